import { problem } from '../../base/problem.js'
import type { ProblemFields } from '../../base/problem-fields.js'
import type { Maker, ServiceContext } from '../../http/context.js'
import type { Reader } from '../../storage/storage.js'
import { buyByTransfer, TransferRefused } from '../paid-calls/buy.js'
import {
  type DialectPart,
  firstPayment,
  type OfferedResource,
  type PaidRequest,
  type PaymentDialect,
  type RefusedInDialect,
  type RequestedOffer,
} from '../paid-calls/dialect.js'
import { type AskedPrice, offerOf, type ThingSold } from '../paid-calls/thing-sold.js'
import { dialects } from './dialects.js'

/** Something that a request may pay for itself. */
export interface Sale<Q extends AskedPrice, D> {
  readonly thing: ThingSold<Q, D>
  resourceOf(quote: Q): OfferedResource
  /** The HTTP status of what is delivered. Undefined if the payment was given back. */
  statusOf(delivered: D): number | undefined
  readonly request: PaidRequest
  /** Who makes the twin of an unknown payer. */
  readonly source: Maker
  /** The name of a payment that its dialect gives none. */
  readonly identifier?: string | undefined
}

/** The quote of a sale, and how it is offered. Throws what quoting throws. */
export async function offered<Q extends AskedPrice, D>(tx: Reader, sale: Sale<Q, D>, service: ServiceContext) {
  const { thing, request } = sale
  const quote = await thing.quote(tx)
  const offer: RequestedOffer = { ...(await offerOf(tx, quote, service)), resource: sale.resourceOf(quote), request }
  return { quote, offer }
}

/** Whether a request carries anything that may be a payment. */
export const carriesPayment = ({ headers }: Pick<PaidRequest, 'headers'>): boolean =>
  ['payment-signature', 'x-payment', 'authorization'].some((name) => headers.has(name))

/**
 * Sells something to whoever pays in the request itself. Returns it with the headers of the receipt. Throws
 * `payment_required` with offers in every dialect, `header_malformed`, and what `buyByTransfer` throws.
 */
export async function sell<Q extends AskedPrice, D>(
  sale: Sale<Q, D>,
  offer: RequestedOffer,
  service: ServiceContext,
): Promise<{ delivered: D; paymentId: number; headers: Readonly<Record<string, string>> }> {
  const { dialect, sent } = await readPayment(sale.request, offer, service)
  if ('reason' in sent) throw await paymentRefused({ dialect, offer, refusal: sent }, service)
  try {
    const identified = { ...sent, identifier: sent.identifier ?? sale.identifier }
    const { delivered, payment } = await buyByTransfer(sale.thing, identified, sale.source, service)
    const status = sale.statusOf(delivered)
    const headers = status === undefined ? {} : dialect.receipt({ ...payment, status }, offer)
    return { delivered, paymentId: payment.paymentId, headers }
  } catch (error) {
    if (!(error instanceof TransferRefused)) throw error
    const { reason, sentence } = dialect.wordsOf(error.refusal)
    const { detail, fields } = error
    const { from: payer } = sent.transfer.authorization
    const refusal = { reason, sentence: detail === undefined ? sentence : `${sentence} ${detail}`, payer }
    // The price may have changed since the client signed it.
    const now = await service.storage.read((tx) => offered(tx, sale, service))
    throw await paymentRefused({ dialect, refusal, fields, offer: now.offer }, service)
  }
}

/** The first payment that a request carries. Throws `payment_required` if there is none. */
async function readPayment(request: PaidRequest, offer: RequestedOffer, service: ServiceContext) {
  const found = await firstPayment(dialects, (dialect) => dialect.read(request, offer, service))
  if (found) return found
  throw paymentRequiredBy(await Promise.all(dialects.map((dialect) => dialect.offer(offer, service))))
}

interface RefusedPayment {
  readonly dialect: PaymentDialect
  readonly offer: RequestedOffer
  readonly refusal: RefusedInDialect
  readonly fields?: ProblemFields
}

async function paymentRefused({ dialect, offer, refusal, fields }: RefusedPayment, service: ServiceContext) {
  const parts = await Promise.all(
    dialects.map((each) => (each === dialect ? each.refused(refusal, offer, service) : each.offer(offer, service))),
  )
  const { reason, sentence } = refusal
  return paymentRequiredBy(parts, { detail: `${reason}: ${sentence}`, fields: { reason, ...fields } })
}

const paymentRequiredBy = (
  parts: readonly DialectPart[],
  { detail, fields }: { detail?: string; fields?: ProblemFields } = {},
) =>
  problem('payment_required', {
    ...(detail !== undefined && { detail }),
    fields: Object.assign({}, ...parts.map((part) => part.fields), fields),
    headers: Object.assign({}, ...parts.map(({ headers }) => headers)),
  })
