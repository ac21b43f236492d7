import { callingAccount, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { base64url, digest } from '../../base/secrets.js'
import { isAhead, seconds } from '../../base/time.js'
import { actorOf } from '../../consent/personas/spending.js'
import type { ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { EventType } from '../../jobs/events/event-types.js'
import {
  type CommodityRow,
  checkQuote,
  commodityOf,
  ownCommodity,
  type PriceQuote,
} from '../../money/commodities/commodity.js'
import { type DigitalQuantityRow, quantityOf, readQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { fundsFor, movementIds, postWith } from '../../money/ledger/movement.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { getOrNotFound, mapInOrder, newestFirst, newestOfAll, type PageBounds, ReadOnce } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { checkPayer, type PayingCaller, spendPayer } from './payer.js'

/**
 * `payment`: for a commodity. `payback`: a commodity's price, paid by its seller. `purchase`: for an item of the catalog.
 * `paywall`: for the answer of an upstream service. `topup`: by card, from the issuer of the digital quantity. `x402`: by a
 * signed transfer, for something that another service sells.
 */
export type PaymentKind = 'payment' | 'payback' | 'purchase' | 'paywall' | 'topup' | 'x402'

/** `pending`: a card is being charged. `failed`: it was not charged. `held`: an upstream call is running. */
export type PaymentStatus = 'pending' | 'held' | 'posted' | 'reversed' | 'failed'

/** Value that was paid for something. */
export interface PaymentRow {
  readonly id: number
  /** The commodity's hash. Null if the payment is not for a commodity. */
  readonly hash: string | null
  /** Receipt line. */
  readonly descriptor: string
  readonly dq: string
  /** Smallest units. */
  readonly amount: string
  readonly payer_owner: Owner
  readonly payer_twin_id: number
  readonly payee_owner: Owner
  readonly payee_twin_id: number
  /** Null if nothing moved: the payment is free, or its card is being charged. */
  readonly movement_id: number | null
  readonly kind: PaymentKind
  readonly status: PaymentStatus
  readonly created_at: number
  /** Digest of the nonce that proves the payment to its seller. Null if there is none. */
  readonly nonce_digest: string | null
  readonly nonce_expires_at: number | null
  readonly nonce_used_at: number | null
}

interface ProvablePayment extends PaymentRow {
  readonly nonce_expires_at: number
}

export type PlainPayment = Omit<PaymentRow, 'id' | 'nonce_digest' | 'nonce_expires_at' | 'nonce_used_at'>

export const payments = collection<PaymentRow>()(
  'payments',
  {
    byNonce: { fields: ['nonce_digest'], unique: true },
    byPayer: { fields: ['payer_owner'] },
    byPayee: { fields: ['payee_owner'] },
    byCommodity: { fields: ['hash'] },
  },
  {
    refs: {
      dq: 'digital_quantities',
      hash: 'commodities',
      movement_id: 'movements',
      payee_twin_id: 'twins',
      payer_twin_id: 'twins',
    },
    secrets: ['nonce_digest'],
    growth: { by: 'whoever pays', bound: 'One for each call that pays. It is a record of value.' },
    retention: { forever: 'It is a record of value.' },
  },
)

/** A nonce of the payer's, which their payment spends. */
export interface SpentNonce {
  readonly digest: string
  readonly expiresAt: number
}

/** Stores a payment that no nonce proves to its seller. The caller moves the value. */
export async function recordPayment(tx: Writer, payment: PlainPayment, spent?: SpentNonce): Promise<PaymentRow> {
  const id = await tx.nextId('payments')
  const { digest: nonce_digest = null, expiresAt: nonce_expires_at = null } = spent ?? {}
  const nonce_used_at = spent ? payment.created_at : null
  const row: PaymentRow = { id, ...payment, nonce_digest, nonce_expires_at, nonce_used_at }
  tx.put(payments, row)
  return row
}

export interface PaymentOrder extends Omit<PayingCaller, 'approvalId'> {
  readonly hash: string
  readonly seen?: PriceQuote | undefined
  readonly at: number
}

/** Pays for a commodity. Throws `payback_only`, `item_inactive`, `price_changed`, `insufficient_funds`, and what `spendPayer` throws. */
export async function createPayment(
  tx: Writer,
  { hash, seen = {}, at, ...caller }: PaymentOrder,
  context: Pick<ServiceContext, 'random' | 'limits' | 'rules'>,
) {
  const { party, hostname } = caller
  checkPayer(caller, false)
  const commodity = await commodityOf(tx, hash)
  if (commodity.payback) throw problem('payback_only')
  // An account may buy its own private items.
  await context.rules.checkForSale(tx, commodity.id, callingAccount(party))
  const quantity = await checkSeenCost(tx, commodity, seen)
  const cost = { sums: new Map([[commodity.dq, BigInt(commodity.cost)]]) }
  // Some clients send the commodity's own hostname. It is ignored, and the primary twin pays.
  const payer = hostname === commodity.hostname ? { ...caller, hostname: undefined } : caller
  const { twin: from } = await spendPayer(tx, payer, at, () => cost)
  const to = sellerTwin(commodity)
  return movePrice(tx, { kind: 'payment', commodity, quantity, from, to, actor: actorOf(party), at }, context)
}

/** Checks the quote that the payer saw. Returns the digital quantity of the price. Throws `price_changed`. */
export async function checkSeenCost(tx: Reader, { dq, cost }: CommodityRow, seen: PriceQuote) {
  const quantity = await quantityOf(tx, dq)
  if (seen.price !== undefined || seen.dq !== undefined) checkQuote(seen, { quantity, amount: BigInt(cost) })
  return quantity
}

type Side = Pick<TwinRow, 'id' | 'owner' | 'hostname'>

export const sellerTwin = ({ twin_id: id, owner, hostname }: CommodityRow): Side => ({ id, owner, hostname })

export interface PricePayment {
  readonly kind: 'payment' | 'payback'
  readonly commodity: CommodityRow
  readonly quantity: DigitalQuantityRow
  readonly from: Side
  readonly to: Side
  readonly actor: string
  readonly at: number
  readonly eventData?: Readonly<Record<string, unknown>>
}

/** Pays a commodity's price. Returns the payment with the nonce that the seller validates. Throws `insufficient_funds`. */
export async function movePrice(
  tx: Writer,
  price: PricePayment,
  { random, limits }: Pick<ServiceContext, 'random' | 'limits'>,
) {
  const { kind, commodity, quantity, from, to, actor, at, eventData } = price
  const nonce = base64url(random.bytes(32))
  const { id, eventId, movementId } = await postPrice(tx, price)
  const payment: PaymentRow = {
    id,
    // The hash in the request is a slice of its URL, and storing it would keep the whole URL in memory.
    hash: commodity.id,
    descriptor: commodity.descriptor,
    dq: commodity.dq,
    amount: commodity.cost,
    payer_owner: from.owner,
    payer_twin_id: from.id,
    payee_owner: to.owner,
    payee_twin_id: to.id,
    movement_id: movementId,
    kind,
    status: 'posted',
    created_at: at,
    nonce_digest: digest(nonce),
    nonce_expires_at: at + limits.nonceSeconds * 1000,
    nonce_used_at: null,
  }
  tx.put(payments, payment)
  const shown = shownPaymentOf(payment, from.hostname, to.hostname, quantity.decimals)
  await recordPaymentEvent(tx, 'payment.created', payment, shown, { eventId, actor, at, eventData })
  return Object.assign(shown, { nonce, timestamp: at })
}

export function recordPaymentEvent(
  tx: Writer,
  type: EventType,
  { id, payer_owner, payee_owner }: PaymentRow,
  { hash, descriptor, dq, amount, hostname, payee_hostname }: ShownPayment,
  { eventId, actor, at, eventData, owners = [payer_owner, payee_owner] }: PaymentEvent,
): Promise<unknown> {
  const data = { hash, descriptor, dq, amount, hostname, payee_hostname, ...eventData }
  return recordEvent(tx, { id: eventId, owners, type, actor, subject: `payment:${id}`, data, at })
}

interface PaymentEvent {
  /** Default: both sides. */
  readonly owners?: readonly [Owner, Owner?]
  readonly actor: string
  readonly at: number
  readonly eventData?: Readonly<Record<string, unknown>> | undefined
  /** Default: a new id. */
  readonly eventId?: number | undefined
}

async function postPrice(tx: Writer, { kind, commodity, from, to, at }: PricePayment) {
  const amount = BigInt(commodity.cost)
  const order = { kind, dq: commodity.dq, amount, payerTwinId: from.id, payeeTwinId: to.id, at }
  const funds = amount === 0n ? undefined : await fundsFor(tx, order)
  // One number for each name.
  const ids = (await tx.nextIds(['payments', 'events', ...(funds ? movementIds : [])])) as [number, number, ...number[]]
  const [id, eventId, ...rest] = ids
  return { id, eventId, movementId: funds ? postWith(tx, order, funds, rest).id : null }
}

/** A nonce, and the seller who sends it. */
export interface PaymentProof {
  readonly hash: string
  readonly seller: Owner
  readonly nonce: string
  /** In Unix milliseconds or seconds. Not compared if it is absent: some existing sites send only the nonce. */
  readonly timestamp?: number | string | undefined
}

/** Spends the nonce of a payment. Throws `not_found`, `not_owner`, `nonce_unknown`, `nonce_used`, `nonce_expired`. */
export async function validatePayment(tx: Writer, proof: PaymentProof, at: number) {
  const commodity = await ownCommodity(tx, proof.seller, proof.hash)
  const payment = await findPayment(tx, commodity, proof)
  if (!payment) throw problem('nonce_unknown')
  if (payment.nonce_used_at !== null) throw problem('nonce_used')
  if (payment.nonce_expires_at <= at || isAhead(payment.created_at, at)) throw problem('nonce_expired')
  const spent: PaymentRow = { ...payment, nonce_used_at: at }
  tx.put(payments, spent)
  const shown = await showPayment(tx, spent)
  await recordPaymentEvent(tx, 'payment.validated', spent, shown, { actor: proof.seller, at })
  return { valid: true as const, payment: shown }
}

/** Reads a nonce without spending it. Throws `not_found`, also if it matches no payment for the commodity, and `not_owner`. */
export async function readPaymentNonce(tx: Reader, proof: PaymentProof) {
  const commodity = await ownCommodity(tx, proof.seller, proof.hash)
  const payment = await findPayment(tx, commodity, proof)
  if (!payment) throw problem('not_found')
  return {
    created_at: seconds(payment.created_at),
    expires_at: seconds(payment.nonce_expires_at),
    used_at: payment.nonce_used_at === null ? null : seconds(payment.nonce_used_at),
    twin_id: payment.payer_twin_id,
    nonce: proof.nonce,
    cost: toAmount(payment.amount, (await quantityOf(tx, payment.dq)).decimals),
  }
}

/** The nonce of a payback proves no payment, so it counts only while the commodity pays its users. */
async function findPayment(tx: Reader, { id: hash, payback }: CommodityRow, { nonce, timestamp }: PaymentProof) {
  const [payment] = await tx.find(payments, { index: 'byNonce', prefix: [digest(nonce)], limit: 1 })
  if (payment?.kind === 'payback' && !payback) return undefined
  return payment?.hash === hash && isTimeOf(payment, timestamp) && isProvable(payment) ? payment : undefined
}

/** The payment that spent a payer's nonce. */
export async function paymentOfNonce(tx: Reader, nonceDigest: string): Promise<PaymentRow | undefined> {
  const [payment] = await tx.find(payments, { index: 'byNonce', prefix: [nonceDigest], limit: 1 })
  return payment
}

const isProvable = (payment: PaymentRow): payment is ProvablePayment => payment.nonce_expires_at !== null

/** Existing sites send milliseconds or whole seconds, as a number or as digits. */
const isTimeOf = ({ created_at }: PaymentRow, timestamp: PaymentProof['timestamp']): boolean =>
  timestamp === undefined || Number(timestamp) === created_at || Number(timestamp) === seconds(created_at)

export async function showPayment(tx: Reader, payment: PaymentRow): Promise<ShownPayment> {
  const [payer, payee] = await tx.getMany(twins, [payment.payer_twin_id, payment.payee_twin_id])
  const { decimals } = await quantityOf(tx, payment.dq)
  return shownPaymentOf(
    payment,
    required(payer, `the payer's twin of payment ${payment.id}`).hostname,
    required(payee, `the payee's twin of payment ${payment.id}`).hostname,
    decimals,
  )
}

function shownPaymentOf(payment: PaymentRow, hostname: string, payee_hostname: string, decimals: number) {
  const { id, hash, descriptor, dq, kind, status } = payment
  return {
    id,
    hash,
    descriptor,
    dq,
    amount: toAmount(payment.amount, decimals),
    hostname,
    payee_hostname,
    kind,
    status,
    created_at: seconds(payment.created_at),
  }
}

/** A payment of which the caller is payer or payee. Throws `not_found`, also for any other payment. */
export async function readPayment(tx: Reader, caller: Owner, id: number) {
  const payment = await getOrNotFound(tx, payments, id)
  if (payment.payer_owner !== caller && payment.payee_owner !== caller) throw problem('not_found')
  return showPayment(tx, payment)
}

/** Payments for one of the seller's commodities, newest first. Throws `not_found`, `not_owner`, `cursor_invalid`. */
export async function listCommodityTransactions(tx: Reader, seller: Owner, hash: string, page: PageBounds) {
  await ownCommodity(tx, seller, hash)
  const found = await newestFirst(tx, payments, { index: 'byCommodity', prefix: [hash], ...page })
  return { transactions: await showAll(tx, found.rows), next: found.next }
}

/** Payments of which the caller is payer or payee, newest first. Throws `cursor_invalid`. */
export async function listPayments(tx: Reader, caller: Owner, page: PageBounds) {
  const sources = [
    { index: 'byPayer', prefix: [caller] },
    { index: 'byPayee', prefix: [caller] },
  ] as const
  const { rows, next } = await newestOfAll(tx, payments, sources, page)
  return { payments: await showAll(tx, rows), next }
}

async function showAll(tx: Reader, rows: PaymentRow[]): Promise<ShownPayment[]> {
  const page = new ReadOnce(tx)
  await page.getMany(
    twins,
    rows.flatMap(({ payer_twin_id, payee_twin_id }) => [payer_twin_id, payee_twin_id]),
  )
  await readQuantities(page, rows)
  return mapInOrder(rows, (row) => showPayment(page, row))
}

export type ShownPayment = ReturnType<typeof shownPaymentOf>
