import { Problem, problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { bytesOf } from '../../base/secrets.js'
import type { CallSource, ServiceContext, StoreAnswer } from '../../http/context.js'
import {
  callsOf,
  checkedUpstream,
  type PayPaywall,
  type PaywallOffer,
  type PaywallOutcome,
  type PaywallRequest,
  paymentHeaders,
  paymentTerms,
  paywallOffer,
  paywallTerms,
  runPaywall,
} from '../../market/paywall/paywall.js'
import { encodedBody } from '../../market/purchases/fulfilment.js'
import { showResponse, storeResponse } from '../../market/purchases/receipt.js'
import { moneyText } from '../../money/ledger/amount.js'
import { showPayment } from '../../payments/payments/payment.js'
import type { Reader } from '../../storage/storage.js'
import type { PaidRequest } from '../paid-calls/dialect.js'
import type { PaidQuote, ThingSold } from '../paid-calls/thing-sold.js'
import { carriesPayment, offered, type Sale, sell } from '../paid-requests/sell.js'
import { findUsdc } from '../wallets/networks.js'

export interface PaywallSale {
  readonly order: PaywallRequest
  readonly hops: number
  readonly request: PaidRequest
  readonly source: Pick<CallSource, 'address'>
  /** How a caller is refused who sends no credentials, and no payment. */
  readonly refusal: Problem
}

/**
 * Sells a call of the paywall to whoever pays in the request itself. Without a payment, a call that could not be paid is
 * refused like any other without credentials. Throws what `sell` throws, and what `paywallOffer` throws.
 */
export async function sellPaywall(call: PaywallSale, service: ServiceContext) {
  const { sale, offer } = await offeredCall(call, service).catch((error: unknown) => {
    throw error instanceof Problem && !carriesPayment(call.request) ? call.refusal : error
  })
  const { delivered: outcome, headers } = await sell(sale, offer, service)
  return { outcome, headers }
}

async function offeredCall(call: PaywallSale, service: ServiceContext) {
  const { request, source } = call
  const sale: Sale<PaywallOffer, PaywallOutcome> = {
    ...{ thing: soldPaywall(call, service), request, source },
    identifier: request.headers.get('idempotency-key') ?? undefined,
    resourceOf: (offer) => resourceOf(offer, service),
    statusOf,
  }
  const { offer } = await service.storage.read((tx) => offered(tx, sale, service))
  return { sale, offer }
}

const resourceOf = ({ payee, quantity, amount }: PaywallOffer, { baseUrl }: Pick<ServiceContext, 'baseUrl'>) => ({
  url: `${baseUrl}/v4/paywall`,
  description: `Pay ${moneyText(amount, quantity)} to ${payee.hostname}`,
  mimeType: 'application/json',
})

function statusOf(outcome: PaywallOutcome): number | undefined {
  if (outcome.kind === 'approved') return 200
  return outcome.paymentStatus === 'posted' ? outcome.status : undefined
}

/** A call of the paywall as something that is sold. */
function soldPaywall(
  { order, hops }: Pick<PaywallSale, 'order' | 'hops'>,
  service: ServiceContext,
): ThingSold<PaywallOffer, PaywallOutcome> {
  const url = checkedUpstream({ request: order, hops }, service)
  return {
    named: JSON.parse(JSON.stringify(order)),
    quote: async (tx) => paywallOffer(tx, { request: order, url, sellerId: undefined }, await quantityFor(tx, order)),
    approval: async (tx, offer) => ({
      terms: await paywallTerms(tx, order, offer),
      wish: { kind: 'paywall', ...order, dq: offer.quantity.id },
    }),
    calls: (offer) => callsOf(url, offer),
    async deliver(pay, { isNamed }) {
      let paid: PaidQuote<PaywallOffer> | undefined
      const payPaywall: PayPaywall = (tx, take) =>
        pay(tx, (now) => {
          paid = now
          return take({ ...now, ...paymentTerms(now.quote) })
        })
      const storeAnswer: StoreAnswer<PaywallOutcome | Problem> = async (tx, outcome) => {
        if (isNamed && !(outcome instanceof Problem)) await keep(tx, outcome, required(paid, 'who pays'), service)
        return outcome
      }
      const run = { request: order, hops, url, whole: isNamed, pay: payPaywall }
      return withoutOffers(await runPaywall(run, service, storeAnswer))
    },
    async readAgain(tx, payment) {
      if (!url) return { kind: 'approved', payment: await showPayment(tx, payment) }
      const response = await showResponse(tx, payment.id, { keys: service.keys, for: 'buyer' })
      if (response?.body == null) throw problem('idempotency_unreadable')
      const { status, content_type: contentType, body_encoding } = response
      const body = body_encoding === 'base64' ? bytesOf(response.body) : new TextEncoder().encode(response.body)
      return { kind: 'answered', paymentId: payment.id, paymentStatus: 'posted', status, contentType, body }
    },
  }
}

/** A client of the dialects would pay what the upstream service asks for. Throws `upstream_failed`. */
function withoutOffers(outcome: PaywallOutcome): PaywallOutcome {
  if (outcome.kind === 'approved' || outcome.status !== 402) return outcome
  const { paymentId, paymentStatus } = outcome
  const detail = 'The upstream service asks for a payment itself (402).'
  throw problem('upstream_failed', { detail, headers: paymentHeaders(paymentId, paymentStatus) })
}

/** The digital quantity of an order: by default the one that clients of the dialects have. */
async function quantityFor(tx: Reader, { dq }: PaywallRequest): Promise<string> {
  const hash = dq ?? (await findUsdc(tx))?.id
  if (hash === undefined) throw problem('dq_unknown', { detail: 'This service has no USDC yet. Name a `dq`.' })
  return hash
}

/** Keeps an answer that its payer may read again. */
async function keep(
  tx: Parameters<StoreAnswer<PaywallOutcome>>[0],
  outcome: PaywallOutcome,
  { bearer }: Pick<PaidQuote<PaywallOffer>, 'bearer'>,
  service: ServiceContext,
): Promise<void> {
  if (outcome.kind === 'approved' || outcome.paymentStatus === 'reversed') return
  const { paymentId, status, contentType: content_type, body } = outcome
  const bytes = body instanceof Uint8Array ? body : new Uint8Array()
  const delivered = { status, content_type, ...encodedBody(bytes) }
  await storeResponse(tx, paymentId, { delivered, isPaid: true, bearer, readLater: true }, service)
}
