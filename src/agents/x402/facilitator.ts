import { canSpend } from '../../base/owner.js'
import { Problem, problem } from '../../base/problem.js'
import { isPlainLine } from '../../base/text/invisible-characters.js'
import { quotedAddress } from '../../base/text/quotation.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import type { CallSource, ServiceContext } from '../../http/context.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { postPayment } from '../../payments/payments/held-payment.js'
import { type PaymentRow, payments } from '../../payments/payments/payment.js'
import { getExisting } from '../../storage/page.js'
import { OutcomeUnknown, type Writer } from '../../storage/storage.js'
import { type Listing, recordResource } from '../bazaar/record.js'
import { type NamedPayment, namePayment, paymentNamed } from '../paid-calls/payment-name.js'
import { type Address, addressIn, checksummed } from '../wallets/evm.js'
import { completeSigner, spendSigner } from '../wallets/signer.js'
import {
  checkTransfer,
  type PayingTransfer,
  type SignedTransfer,
  signatureRefusal,
  type TransferRefusal,
  transactionHash,
} from '../wallets/transfer.js'
import { createWalletTwin, twinOfAddress } from '../wallets/wallet.js'
import { welcomeSigner } from '../wallets/welcome.js'
import { type DuePayment, type PaymentPayload, type Requirements, type SentPayment, transferIn } from './payload.js'
import { namedPayment } from './payment-identifier.js'
import type { X402Refusal } from './reasons.js'

/** A payment as a shop sends it to be verified or settled. */
export interface FacilitatedPayment {
  readonly sent: SentPayment
  readonly due: DuePayment
  readonly source: Pick<CallSource, 'address'>
  /** Only of version 2: it may describe its resource. */
  readonly describing?: { readonly payload: PaymentPayload; readonly due: Requirements } | undefined
}

export type SettleOutcome = SettledTransfer | RefusedTransfer

interface SettledTransfer {
  readonly payer: Address
  readonly refused?: undefined
  readonly transaction: string
  /** Smallest units. */
  readonly amount: string
  /** Of the resource that the payment describes. */
  readonly listing?: Listing | undefined
}

export interface RefusedTransfer {
  /** Undefined if the payload names none. */
  readonly payer: Address | undefined
  readonly refused: X402Refusal
  /** What the service adds to the sentence of the reason. */
  readonly detail?: string | undefined
}

/** Settles a payment once. Throws `payment_identifier_mismatch`, `field_invalid`, and what says that the service itself failed. */
export async function settleTransfer(payment: FacilitatedPayment, service: ServiceContext): Promise<SettleOutcome> {
  try {
    return await facilitate(payment, service, (body) =>
      service.storage.write(async (tx) => listedToo(tx, await body(tx), payment, service)),
    )
  } catch (cause) {
    if (!(cause instanceof OutcomeUnknown)) throw cause
    service.log.error('a settlement has no known outcome', cause)
    throw problem('outcome_unknown', { detail: 'Settle the same payment again: it moves once.', cause })
  }
}

/** Lists the resource that a settled payment describes. */
async function listedToo(
  tx: Writer,
  outcome: SettleOutcome,
  { describing }: FacilitatedPayment,
  { clock, baseUrl: ownUrl }: Pick<ServiceContext, 'clock' | 'baseUrl'>,
): Promise<SettleOutcome> {
  if (outcome.refused || !describing) return outcome
  const { payload, due } = describing
  return { ...outcome, listing: await recordResource(tx, payload, { due, at: clock.now(), ownUrl }) }
}

/** What settling would answer now. It writes nothing but the twin of an address that has none, and the approval that a refusal offers. */
export const verifyTransfer = (payment: FacilitatedPayment, service: ServiceContext): Promise<SettleOutcome> =>
  facilitate(payment, service, (body) => undone(body, service))

type Run = (body: (tx: Writer) => Promise<SettleOutcome>) => Promise<SettleOutcome>

/** Carries the outcome of a settlement that must not land. */
class Undone extends Error {
  constructor(readonly outcome: SettleOutcome) {
    super('a verified payment is not settled')
  }
}

async function undone(body: (tx: Writer) => Promise<SettleOutcome>, { storage }: Pick<ServiceContext, 'storage'>) {
  try {
    return await storage.write(async (tx) => {
      const outcome = await body(tx)
      // A refusal has written nothing but the twin.
      if (outcome.refused) return outcome
      throw new Undone(outcome)
    })
  } catch (error) {
    if (error instanceof Undone) return error.outcome
    throw error
  }
}

async function facilitate(payment: FacilitatedPayment, service: ServiceContext, run: Run): Promise<SettleOutcome> {
  const { sent, due, source } = payment
  const from = sent.payload.authorization?.from
  const payer = from === undefined ? undefined : addressIn(from)
  const transfer = transferIn(sent, due, service.options.dialects)
  if (typeof transfer === 'string') return { payer, refused: transfer }
  const at = service.clock.now()
  const untimely = signatureRefusal(transfer, at)
  // What has paid before it expired may be asked for afterwards.
  if (untimely && untimely !== 'expired') return { payer, refused: untimely }
  const order = { transfer, untimely, resource: sent.resource, source, at }
  const named = namedPayment(sent, due, transfer.authorization.from)
  try {
    return await run((tx) => settleIn(tx, { ...order, named }, service))
  } catch (error) {
    if (error instanceof Problem && error.status < 500 && error.code !== 'payment_identifier_mismatch')
      return { payer, ...(await refusalOf(error, order, service)) }
    throw error
  }
}

interface SettleOrder {
  readonly transfer: SignedTransfer
  /** Why it can no longer be settled, unless it was settled before. */
  readonly untimely: TransferRefusal | undefined
  readonly resource: string | undefined
  readonly source: Pick<CallSource, 'address'>
  readonly at: number
}

async function settleIn(
  tx: Writer,
  { named, ...order }: SettleOrder & { readonly named: NamedPayment | undefined },
  service: ServiceContext,
): Promise<SettleOutcome> {
  const { transfer, untimely, at } = order
  const { from: payer } = transfer.authorization
  const first = named && (await paymentNamed(tx, named))
  if (first) return receiptOf(first, payer)
  const checked = await checkTransfer(tx, transfer)
  if ('refused' in checked) {
    const { earlier } = checked
    if (earlier && service.options.dialects.settlesAgain && hasSettled(earlier, order)) return receiptOf(earlier, payer)
    if (checked.refused === 'funds_missing') await welcomeSigner(tx, order, service)
    return { payer, refused: untimely ?? checked.refused }
  }
  if (untimely) return { payer, refused: untimely }
  const payment = await pay(tx, order, checked, service)
  if (named) namePayment(tx, named, payment.id, at)
  return receiptOf(payment, payer)
}

/** Whether a payment settled the same. An item's call spends nonces too, and an expired signature was not checked for the amount. */
const hasSettled = ({ kind, amount, descriptor }: PaymentRow, { transfer, resource }: SettleOrder): boolean =>
  kind === 'x402' && amount === String(transfer.due.amount) && descriptor === descriptorOf(resource)

const receiptOf = (payment: PaymentRow, payer: Address): SettledTransfer => ({
  payer,
  transaction: transactionHash(payment),
  amount: payment.amount,
})

async function pay(tx: Writer, order: SettleOrder, paying: PayingTransfer, service: ServiceContext) {
  const { transfer, resource, source, at } = order
  const { payer, quantity, amount, spentNonce } = paying
  const { payTo: address } = transfer.due
  // Nothing but nonces would limit how many payments of nothing anybody stores.
  if (amount === 0n) throw problem('amount_invalid', { detail: 'The amount must be above zero.' })
  const approval = () => ({ terms: approvalTerms(order, paying), wish: {} })
  const { actor } = await spendSigner(tx, transfer, paying, { approval, at })
  const refuses = address === NOBODY || address === transfer.token
  const payee = refuses ? undefined : await payeeAt(tx, { address, dq: quantity.id, source, at }, service)
  if (!payee) throw problem('not_found', { detail: `Nobody could spend what ${address} receives.` })
  const paid = { kind: 'x402', hash: null, descriptor: descriptorOf(resource), dq: quantity.id, amount } as const
  const { id } = await postPayment(tx, { ...paid, payer, payee, actor, delegate: null, spentNonce, at })
  return getExisting(tx, payments, id)
}

const descriptorOf = (resource: string | undefined): string =>
  resource !== undefined && resource.length <= 255 && isPlainLine(resource) && !USER_INFO.test(resource)
    ? resource
    : 'x402'

/** Name and password in a URL. Both sides of a payment read its line, and their webhooks get it. */
const USER_INFO = /:\/\/[^/?#]*@/

/** Tokens refuse to pay it, and to pay themselves. */
const NOBODY = checksummed('0'.repeat(40))

/** The twin of the payee's address, created if nobody has it. Undefined if nobody could spend what it receives. */
async function payeeAt(
  tx: Writer,
  { source, ...order }: { address: Address; dq: string; at: number } & Pick<SettleOrder, 'source'>,
  service: ServiceContext,
): Promise<TwinRow | undefined> {
  const payee = await twinOfAddress(tx, order.address)
  if (payee) return canSpend(payee.owner) ? payee : undefined
  await service.rules.countNew(tx, twins.name, { address: source.address }, service)
  return createWalletTwin(tx, order, service)
}

/** What an app's user approves: the payee's address, the amount, and what is bought. */
function approvalTerms({ transfer, resource }: SettleOrder, { payer, quantity, amount }: PayingTransfer) {
  const { payTo } = transfer.due
  const price = priceDetail(quantity, amount)
  const bought = resource === undefined ? {} : { resource }
  return {
    kind: 'paywall',
    detail: { from: payer.hostname, payee: payTo, ...price, network: transfer.network.network, ...bought },
    summary: `Pay ${price.price} to ${quotedAddress(payTo)} by x402`,
  } as const satisfies ApprovalTerms
}

/** The refusal for a problem of the ledger. For a missing approval, offers one, and says where the user approves. */
async function refusalOf(refusal: Problem, order: SettleOrder, service: ServiceContext) {
  const { code } = refusal
  if (code === 'insufficient_funds') return { refused: 'funds_missing' } as const
  if (code === 'delegate_refused') return { refused: code, detail: refusal.message } as const
  if (code !== 'approval_required')
    return { refused: 'transfer_refused', detail: `${code}: ${refusal.message}` } as const
  const completed = await completeSigner(
    refusal,
    order.transfer,
    (_tx, paying) => approvalTerms(order, paying),
    service,
  )
  return { refused: code, detail: completed.message } as const
}
