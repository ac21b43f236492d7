import type { CardRow, CardSubject } from '../../base/message.js'
import type { Owner } from '../../base/owner.js'
import type { ChargeResult } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext, StoreAnswer } from '../../http/context.js'
import { emailOf, responsibleFor } from '../../identity/users/user.js'
import type { EventType } from '../../jobs/events/event-types.js'
import { runFlow } from '../../jobs/flows/flow.js'
import { postCharge } from '../../jobs/outbox/outbox.js'
import {
  beginCardTry,
  chargeNow,
  checkProcessor,
  type GiveUpCharge,
  isWithinCardMost,
  type SettleCharge,
  unchargedProblem,
} from '../../money/cards/charge.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText, toUnits } from '../../money/ledger/amount.js'
import { post, releaseSupply, reserveSupply } from '../../money/ledger/movement.js'
import { type BalanceUnit, ownTwin, showTwin, type TwinRow, twins } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type PaymentRow, payments, recordPayment, recordPaymentEvent, showPayment } from '../payments/payment.js'

export interface TopupOrder {
  readonly owner: Owner
  readonly hostname: string
  readonly amount: number
  readonly paymentMethodId: string
  /** Default: the digital quantity that the twin was created for. */
  readonly dq?: string | undefined
}

/** Charges a card and issues the value to an own twin. If the outcome is unknown, the outbox settles the payment later. */
export async function createTopup(
  order: TopupOrder,
  service: ServiceContext,
  storeAnswer: StoreAnswer<ShownTopup | Problem>,
) {
  checkProcessor(service)
  return runFlow('top-up', service, async (run) => {
    const { payment, message } = await run.transaction('begin', async (tx) => {
      const begun = await beginTopup(tx, { ...order, claim: run.token }, service)
      await storeAnswer(tx, unsettledTopup(begun.payment.id, true), { provisional: true })
      return begun
    })
    const result = await chargeNow(message, run, service)
    return run.answer((tx) => answerOf(tx, { id: payment.id, result }, service), storeAnswer)
  })
}

async function beginTopup(tx: Writer, order: TopupOrder & Pick<ChargeOrder, 'claim'>, service: ServiceContext) {
  const { paymentMethodId, claim } = order
  const twin = await ownTwin(tx, order.owner, order.hostname)
  const quantity = await quantityOf(tx, order.dq ?? twin.dq)
  const units = chargeableUnits(order.amount, quantity)
  const description = `Top-up of ${twin.hostname}`
  // Whose card is charged: a user's email, or the hostname of an account's twin.
  const to = (await emailOf(tx, twin.owner)) ?? twin.hostname
  const at = service.clock.now()
  const maker = await responsibleFor(tx, order.owner)
  const paid = { paymentMethodId, description, to, purpose: 'topup', subjects: [maker], maker, claim } as const
  const charge = { twin, quantity, units, ...paid, at }
  return createPendingPayment(tx, charge, service)
}

export interface ChargeOrder {
  readonly twin: TwinRow
  readonly quantity: DigitalQuantityRow
  /** Smallest units that are whole cents. */
  readonly units: bigint
  readonly paymentMethodId: string
  readonly description: string
  /** Whose card it is: an email, or a twin's hostname. */
  readonly to: string
  readonly purpose: CardRow['purpose']
  /** Whose limit a declined card counts against. */
  readonly subjects: readonly CardSubject[]
  /** Whose limit counts the reserved supply. */
  readonly maker: CardSubject
  /** Token of the flow that makes the charge. */
  readonly claim: string
  readonly at: number
}

/** Stores a pending payment, its charge, and the supply for it. Throws `amount_invalid`, `too_many_declines`, `too_many_charges`. */
export async function createPendingPayment(
  tx: Writer,
  { twin, quantity, units, paymentMethodId, description, to, purpose, subjects, maker, claim, at }: ChargeOrder,
  service: Pick<ServiceContext, 'random' | 'limits'>,
) {
  const { id: dq, issuer_twin_id, decimals, shortcode: currency } = quantity
  const { cardAmount } = service.limits
  if (!isWithinCardMost(units, quantity, service.limits))
    throw problem('amount_invalid', {
      detail: `One charge of a card may be at most ${moneyText(toUnits(cardAmount, decimals), quantity)}. Use a smaller amount.`,
    })
  await beginCardTry(tx, { subjects, at })
  const payment = await recordPayment(tx, {
    ...{
      hash: null,
      descriptor: 'TOP-UP',
      dq,
      amount: String(units),
      kind: 'topup',
      status: 'pending',
      created_at: at,
    },
    ...{ payer_owner: `issuer:${dq}`, payer_twin_id: issuer_twin_id, movement_id: null },
    ...{ payee_owner: twin.owner, payee_twin_id: twin.id },
  })
  await reserveSupply(tx, { paymentId: payment.id, dq, issuerTwinId: issuer_twin_id, amount: units, maker })
  const shown = moneyText(units, quantity)
  const id = `${purpose}_${randomHex(service.random, 16)}`
  const wanted = { id, payment_method_id: paymentMethodId, on_file: false, amount: String(units), decimals }
  const message = await postCharge(tx, {
    to,
    subject: `Charge ${shown}`,
    text: `${description}: ${shown}, charged to the payment method ${paymentMethodId}.`,
    charge: { ...wanted, currency, description },
    purpose,
    purposeId: payment.id,
    subjects,
    claim,
    at,
  })
  return { payment, message }
}

function chargeableUnits(amount: number, { decimals }: DigitalQuantityRow): bigint {
  const units = toUnits(amount, decimals)
  if (units === 0n) throw problem('amount_invalid', { detail: '`amount` must be above zero.' })
  if (decimals > 2 && units % 10n ** BigInt(decimals - 2) !== 0n)
    throw problem('amount_invalid', {
      detail: '`amount` must have at most 2 decimals, because cards are charged in whole cents.',
    })
  return units
}

/** Issues the charged amount from the reserved supply, or marks the payment as failed if the card was not charged. */
export const settleTopup: SettleCharge = async (tx, { id, result }, { clock }) => {
  const payment = await tx.get(payments, id)
  if (payment?.status !== 'pending') return
  const at = clock.now()
  await releaseSupply(tx, id)
  if (result.status !== 'succeeded') {
    const reason = result.status === 'declined' ? result.reason : 'the card processor was not available'
    return failPayment(tx, payment, { eventData: { reason }, at })
  }
  const movement = await post(tx, {
    kind: 'topup',
    dq: payment.dq,
    amount: BigInt(payment.amount),
    payerTwinId: payment.payer_twin_id,
    payeeTwinId: payment.payee_twin_id,
    payerIsIssuer: true,
    at,
  })
  const posted: PaymentRow = { ...payment, status: 'posted', movement_id: movement.id }
  tx.put(payments, posted)
  const { charge_id, card } = result
  const eventData = { charge_id, ...(card && { card: { ...card } }) }
  await recordTopupEvent(tx, 'payment.created', posted, { eventData, at })
}

/** Issues nothing if it stays unknown whether the card was charged. */
export const loseTopup: GiveUpCharge = async (tx, { id, chargeId }, { clock }) => {
  const payment = await tx.get(payments, id)
  if (payment?.status !== 'pending') return
  await releaseSupply(tx, id)
  const reason = 'the card processor did not say whether the card was charged'
  await failPayment(tx, payment, { eventData: { reason, unknown_charge: chargeId }, at: clock.now() })
}

function failPayment(tx: Writer, payment: PaymentRow, told: { eventData: Record<string, unknown>; at: number }) {
  const failed: PaymentRow = { ...payment, status: 'failed' }
  tx.put(payments, failed)
  return recordTopupEvent(tx, 'payment.failed', failed, told)
}

/** Only the twin's owner gets the event: nobody reads the issuer's. */
async function recordTopupEvent(
  tx: Writer,
  type: EventType,
  payment: PaymentRow,
  { eventData, at }: { eventData: Record<string, unknown>; at: number },
): Promise<void> {
  const { payee_owner: actor } = payment
  await recordPaymentEvent(tx, type, payment, await showPayment(tx, payment), { actor, owners: [actor], eventData, at })
}

async function answerOf(
  tx: Reader,
  { id, result }: { id: number; result: ChargeResult | undefined },
  { options: { balances: unit } }: Pick<ServiceContext, 'options'>,
): Promise<ShownTopup | Problem> {
  const payment = await tx.get(payments, id)
  return payment?.status === 'posted'
    ? showTopup(tx, payment, unit)
    : unsettledTopup(id, payment?.status !== 'failed', result)
}

type ShownTopup = Awaited<ReturnType<typeof showTopup>>

async function showTopup(tx: Reader, payment: PaymentRow, unit: BalanceUnit) {
  const twin = await getExisting(tx, twins, payment.payee_twin_id)
  return { payment: await showPayment(tx, payment), balances: (await showTwin(tx, twin, { unit })).balances }
}

const unsettledTopup = (id: number, isPending: boolean, result?: ChargeResult): Problem =>
  unchargedProblem(result, {
    isPending,
    failed: 'The card was not charged. Try again later with a new Idempotency-Key.',
    unknown: `It is not known yet whether the card was charged. Do not top up again. Payment ${id} settles by itself, and charges the card at most once. Read GET /v4/payments/${id} for its status.`,
    fields: { payment_id: id },
  })
