import type { CardRow, CardSubject } from '../../base/message.js'
import type { Owner } from '../../base/owner.js'
import type { ChargeResult } from '../../base/ports.js'
import { Problem, problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import type { KeepAnswer } from '../../http/stored-answer.js'
import { emailOf } from '../../identity/users/user.js'
import { recordEvent } from '../../jobs/events/event.js'
import { postCharge } from '../../jobs/outbox/outbox.js'
import type { GiveUpCharge, SettleCharge } from '../../money/cards/charge.js'
import { cardDeclined, chargeLease, chargeNow, checkProcessor } from '../../money/cards/charge-now.js'
import { beginCardTry } from '../../money/cards/declines.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount, toUnits } from '../../money/ledger/amount.js'
import { post } from '../../money/ledger/movement.js'
import { releaseSupply, reserveSupply } from '../../money/ledger/reservation.js'
import { ownTwin, showTwin, type TwinRow, twins } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/existing.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type PaymentRow, payments, recordPayment, type ShownPayment, showPayment } from '../payments/payment.js'

export interface TopupOrder {
  readonly owner: Owner
  readonly hostname: string
  readonly amount: number
  readonly paymentMethodId: string
  /** What the twin was made for, where absent. */
  readonly dq?: string | undefined
}

/** A top-up whose card has yet to be charged. */
export interface PendingTopup {
  readonly payment: PaymentRow
  readonly message: CardRow
}

/**
 * Has a card charged and the value issued to one of the owner's twins. Gives the payment and the twin's balances.
 * Throws `not_found`, `not_owner`, `dq_unknown`, `amount_invalid`, `too_many_declines`, `card_declined`; `processor_failed` where nothing was
 * charged, and also where that is not known yet: the outbox then goes on to settle the payment.
 */
export async function createTopup(order: TopupOrder, service: ServiceContext, keep: KeepAnswer<ShownTopup | Problem>) {
  const { storage, log } = service
  checkProcessor(service)
  const { payment, message } = await storage.write(async (tx) => {
    const begun = await beginTopup(tx, order, service)
    await keep(tx, unsettledTopup(begun.payment.id, false), { meanwhile: true })
    return begun
  })
  const result = await chargeNow(message, service)
  const answer = await storage.read((tx) => answerOf(tx, payment.id, result))
  await storage
    .write((tx) => keep(tx, answer))
    // The one that was kept meanwhile says where to look.
    .catch((cause: unknown) => log.error(`the answer of top-up ${payment.id} could not be kept`, cause))
  if (answer instanceof Problem) throw answer
  return answer
}

async function beginTopup(tx: Writer, order: TopupOrder, service: ServiceContext): Promise<PendingTopup> {
  const twin = await ownTwin(tx, order.owner, order.hostname)
  const quantity = await quantityOf(tx, order.dq ?? twin.dq)
  const units = chargeableUnits(order.amount, quantity)
  const { paymentMethodId } = order
  const description = `Top-up of ${twin.hostname}`
  const to = await payerAddress(tx, twin)
  const at = service.clock.now()
  const subjects = [order.owner]
  const charge = { twin, quantity, units, paymentMethodId, description, to, purpose: 'topup', subjects, at } as const
  return createPendingPayment(tx, charge, service)
}

/** A charge whose amount is issued to a twin. */
export interface ChargeOrder {
  readonly twin: TwinRow
  readonly quantity: DigitalQuantityRow
  /** Smallest units that are whole cents. */
  readonly units: bigint
  readonly paymentMethodId: string
  readonly description: string
  /** Whom it concerns: an email, or a twin's hostname. */
  readonly to: string
  /** Its id there is that of the payment. */
  readonly purpose: CardRow['purpose']
  /** Whom the card counts for if it is declined. */
  readonly subjects: readonly CardSubject[]
  readonly at: number
}

/**
 * Writes the pending payment with the charge that settles it, for the caller to make, and reserves the supply for it: what is charged
 * can be issued, whatever is issued meanwhile. Throws `amount_invalid`, `too_many_declines`.
 */
export async function createPendingPayment(
  tx: Writer,
  { twin, quantity, units, paymentMethodId, description, to, purpose, subjects, at }: ChargeOrder,
  { random, limits }: Pick<ServiceContext, 'random' | 'limits'>,
): Promise<PendingTopup> {
  await beginCardTry(tx, { subjects, at })
  const payment = await recordPending(tx, { twin, quantity, units, at })
  const { decimals, shortcode: currency } = quantity
  const shown = `${formatAmount(units, decimals)} ${currency}`
  const message = await postCharge(tx, {
    to,
    subject: `Charge ${shown}`,
    text: `${description}: ${shown}, charged to the payment method ${paymentMethodId}.`,
    charge: {
      id: `${purpose}_${randomHex(random, 16)}`,
      payment_method_id: paymentMethodId,
      on_file: false,
      amount: String(units),
      decimals,
      currency,
      description,
    },
    purpose,
    purposeId: payment.id,
    subjects,
    leaseMs: chargeLease(limits),
    at,
  })
  return { payment, message }
}

/** Throws `amount_invalid`. */
function chargeableUnits(amount: number, { decimals }: DigitalQuantityRow): bigint {
  const units = toUnits(amount, decimals)
  if (units === 0n) throw problem('amount_invalid', { detail: 'It must be above zero.' })
  if (decimals > 2 && units % 10n ** BigInt(decimals - 2) !== 0n)
    throw problem('amount_invalid', { detail: 'Cards are charged whole cents: it takes at most 2 decimals.' })
  return units
}

async function recordPending(
  tx: Writer,
  { twin, quantity, units, at }: { twin: TwinRow; quantity: DigitalQuantityRow; units: bigint; at: number },
): Promise<PaymentRow> {
  const { id: dq, issuer_twin_id } = quantity
  const payment = await recordPayment(tx, {
    hash: null,
    descriptor: 'TOP-UP',
    dq,
    amount: String(units),
    payer_owner: `issuer:${dq}`,
    payer_twin_id: issuer_twin_id,
    payee_owner: twin.owner,
    payee_twin_id: twin.id,
    movement_id: null,
    kind: 'topup',
    status: 'pending',
    created_at: at,
  })
  await reserveSupply(tx, { paymentId: payment.id, dq, issuerTwinId: issuer_twin_id, amount: units })
  return payment
}

/** Whom the charge concerns: a user's email, or the hostname of an account's twin. */
const payerAddress = async (tx: Reader, { owner, hostname }: TwinRow): Promise<string> =>
  (await emailOf(tx, owner)) ?? hostname

/**
 * Issues what was charged, from the supply that was reserved for it; a payment whose card was not charged has failed. One of an older
 * version, for which nothing was reserved, throws `amount_invalid` while the supply is full.
 */
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
  await recordTopupEvent(tx, posted, {
    type: 'payment.created',
    data: { charge_id, ...(card && { card: { ...card } }) },
    at,
  })
}

/** Nothing is issued for a card of which it stays unknown whether it was charged. */
export const loseTopup: GiveUpCharge = async (tx, { id, chargeId }, { clock }) => {
  const payment = await tx.get(payments, id)
  if (payment?.status !== 'pending') return
  await releaseSupply(tx, id)
  const reason = 'the card processor did not say whether the card was charged'
  await failPayment(tx, payment, { eventData: { reason, unknown_charge: chargeId }, at: clock.now() })
}

function failPayment(
  tx: Writer,
  payment: PaymentRow,
  { eventData, at }: { eventData: Record<string, unknown>; at: number },
): Promise<void> {
  const failed: PaymentRow = { ...payment, status: 'failed' }
  tx.put(payments, failed)
  return recordTopupEvent(tx, failed, { type: 'payment.failed', data: eventData, at })
}

/** Only the twin's owner gets the event: nobody reads the issuer's. */
async function recordTopupEvent(
  tx: Writer,
  payment: PaymentRow,
  { type, data, at }: { type: string; data: Record<string, unknown>; at: number },
): Promise<void> {
  const { id, payee_owner: owner } = payment
  const { hash, descriptor, dq, amount, hostname, payee_hostname } = await showPayment(tx, payment)
  await recordEvent(tx, {
    owners: [owner],
    type,
    actor: owner,
    subject: `payment:${id}`,
    data: { hash, descriptor, dq, amount, hostname, payee_hostname, ...data },
    at,
  })
}

/** Gives `card_declined` or `processor_failed` where nothing was issued. */
async function answerOf(tx: Reader, id: number, result: ChargeResult | undefined): Promise<ShownTopup | Problem> {
  const payment = await tx.get(payments, id)
  if (payment?.status === 'posted') return showTopup(tx, payment)
  const isFailed = payment?.status === 'failed'
  return isFailed && result?.status === 'declined'
    ? cardDeclined(result.reason, { payment_id: id })
    : unsettledTopup(id, isFailed)
}

export interface ShownTopup {
  payment: ShownPayment
  balances: Record<string, number>
}

async function showTopup(tx: Reader, payment: PaymentRow): Promise<ShownTopup> {
  const twin = await getExisting(tx, twins, payment.payee_twin_id)
  return { payment: await showPayment(tx, payment), balances: (await showTwin(tx, twin, null)).balances }
}

const unsettledTopup = (id: number, isFailed: boolean): Problem =>
  problem('processor_failed', {
    detail: isFailed
      ? 'Nothing was charged. Try again later; a new try takes a new Idempotency-Key.'
      : `Whether the card was charged is not known yet. Do not top up again for it: payment ${id} is settled by itself, and the card is never charged twice for it; GET /v4/payments/${id} tells.`,
    fields: { payment_id: id, outcome: isFailed ? 'failed' : 'unknown' },
  })
