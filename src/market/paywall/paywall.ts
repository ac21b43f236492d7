import { type Problem, problem } from '../../base/problem.js'
import { checkHops } from '../../base/via.js'
import { actorOf, ownerOfParty } from '../../consent/personas/spending.js'
import { awaitSecondFactor, spendAwaited } from '../../consent/second-factor/await-second-factor.js'
import type { AuthenticationRequestRow } from '../../consent/second-factor/request.js'
import type { ServiceContext } from '../../http/context.js'
import type { StoreAnswer } from '../../http/stored-answer.js'
import { runFlow } from '../../jobs/flows/flow.js'
import { callUpstream, readWhole, type UpstreamAnswer, UpstreamFailure } from '../../jobs/upstream/call.js'
import { checkUpstreamUrl, queryText } from '../../jobs/upstream/policy.js'
import { payingTwin } from '../../money/twins/twin.js'
import {
  type HeldPayment,
  heldPayments,
  holdPayment,
  type PaymentTerms,
  postPayment,
  reversePayment,
  settlePayment,
} from '../../payments/payments/held-payment.js'
import { bearerOf, spendPayer } from '../../payments/payments/payer.js'
import type { ShownPayment } from '../../payments/payments/payment.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { spendCalls } from '../purchases/call-limits.js'
import {
  checkFunds,
  detailOf,
  type PaywallCaller,
  type PaywallOrder,
  type PaywallQuote,
  type PaywallRequest,
  paywallQuote,
  paywallTerms,
} from './order.js'

export type PaywallOutcome =
  /** There was no upstream service to call. */
  | { readonly kind: 'approved'; readonly payment: ShownPayment }
  /** The upstream service answered. */
  | {
      readonly kind: 'answered'
      readonly paymentId: number
      readonly paymentStatus: 'posted' | 'reversed'
      readonly status: number
      readonly contentType: string | null
      readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
    }

export interface PaywallCall extends PaywallCaller {
  readonly request: PaywallRequest
  readonly hops: number
  /** Whether the answer must be read completely because it will be stored. */
  readonly whole: boolean
}

/**
 * Takes a payment, and calls the upstream service if one is named. An answer below status 500 posts the payment, any
 * other reverses it.
 * Throws `too_many_hops`, `upstream_refused`, `too_many_calls`, and what `paywallQuote`, `awaitSecondFactor` and `spendPayer` throw,
 * before any value moves, and `upstream_failed` afterwards.
 */
export async function callPaywall(
  paywall: PaywallCall,
  service: ServiceContext,
  storeAnswer: StoreAnswer<PaywallOutcome | Problem>,
): Promise<PaywallOutcome> {
  const { serviceUrl } = paywall.request
  if (serviceUrl !== undefined) checkHops(paywall.hops)
  const url = serviceUrl === undefined ? undefined : checkUpstreamUrl(serviceUrl, service)
  const order = { ...paywall, url }
  const approved = await requestSecondFactor(order, service)
  const terms = (tx: Writer) => termsOf(tx, order, approved, service)
  return runFlow('paywall', service, async (run) => {
    if (!url)
      return run.transaction('pay', async (tx) =>
        storeAnswer(tx, { kind: 'approved', payment: await postPayment(tx, await terms(tx)) }),
      )
    const held = await run.transaction(
      'hold the amount',
      async (tx) => {
        const held = await holdPayment(tx, { ...(await terms(tx)), token: run.token }, service)
        await storeAnswer(tx, failed(held, 'The call was interrupted.'), { provisional: true })
        return held
      },
      (tx, held) => reversePayment(tx, held, service),
    )
    const proxied = await run.effect('proxy the call', heldPayments.longestMs(service), () =>
      proxy(paywall, url, service),
    )
    return run.transaction('settle', async (tx) => storeAnswer(tx, await settle(tx, held, proxied, service)))
  })
}

type Approved = AuthenticationRequestRow | undefined

/** Asks a session's user for their second factor, once everything else allows the payment. */
async function requestSecondFactor(order: PaywallOrder, service: ServiceContext): Promise<Approved> {
  const { session } = order
  if (!session) return undefined
  const asking = await service.storage.read(async (tx) => {
    const quote = await paywallQuote(tx, order, await payingTwin(tx, ownerOfParty(order.caller.party)))
    await checkFunds(tx, quote)
    return secondFactorRequest(tx, order, quote, session)
  })
  return awaitSecondFactor(service, asking)
}

const secondFactorRequest = async (
  tx: Reader,
  order: PaywallOrder,
  quote: PaywallQuote,
  session: NonNullable<PaywallOrder['session']>,
) => ({ ...session, action: 'paywall', detail: await detailOf(tx, order, quote), asker: askerOf(order) })

/** Limits for a page's requests are separate from those of the user. */
const askerOf = ({ origin, sellerId }: PaywallOrder): string | undefined =>
  origin === undefined ? undefined : `page:${sellerId}:${origin}`

/** Returns the terms of the payment, spends what allows it, and counts the call. */
async function termsOf(
  tx: Writer,
  order: PaywallOrder,
  approved: Approved,
  service: ServiceContext,
): Promise<PaymentTerms> {
  const at = service.clock.now()
  const { caller, url } = order
  const { party, delegate = null } = caller
  const { payer, payee, quantity, amount, descriptor } = await spentQuote(tx, order, approved, at)
  const bearer = bearerOf(party, payer)
  // The host may be anybody's, and the payer may pay themselves.
  if (url) await spendCalls(tx, [{ endpoint: url.href, amount, calls: 1 }], { bearer, at }, service)
  const actor = actorOf(party)
  return { kind: 'paywall', hash: null, descriptor, dq: quantity.id, amount, payer, payee, actor, delegate, at }
}

/** Quotes an order and spends what allows exactly that quote. */
async function spentQuote(tx: Writer, order: PaywallOrder, approved: Approved, at: number): Promise<PaywallQuote> {
  const { caller, request, session } = order
  const { cost } = await spendPayer(tx, caller, at, async (twin, dq) => {
    const quote = await paywallQuote(tx, order, twin, dq)
    const wish = { kind: 'paywall', ...request }
    const approval = async () => ({ terms: await paywallTerms(tx, request, quote), wish })
    return { quote, sums: new Map([[quote.quantity.id, quote.amount]]), approval }
  })
  const { quote } = cost
  const byApproval = caller.party.kind === 'agent' && caller.delegate === undefined
  if (!byApproval) await checkFunds(tx, quote)
  if (approved && session) await spendAwaited(tx, approved, await secondFactorRequest(tx, order, quote, session), at)
  return quote
}

/** Calls the upstream service. Without an answer there is a `failure`. */
async function proxy({ request, whole, hops }: PaywallCall, url: URL, service: ServiceContext) {
  try {
    const answer = await callUpstream(service, { ...upstreamRequest(url, request), hops })
    const { status, contentType } = answer
    // Reads the whole answer before it settles the payment. Event streams are relayed as they arrive.
    const body = whole || !isStream(answer) ? await readWhole(answer) : answer.body
    return { answer: { status, contentType, body }, failure: '' }
  } catch (error) {
    if (error instanceof UpstreamFailure) return { answer: undefined, failure: error.message }
    throw error
  }
}

/** Builds the upstream request. It contains nothing of the caller but these parameters. */
function upstreamRequest(url: URL, { serviceMethod: method = 'GET', additionalParams: params }: PaywallRequest) {
  const headers = { accept: '*/*' }
  if (params === undefined) return { url, method, headers, body: null }
  if (method === 'GET') return { url: withParams(url, params), method, headers, body: null }
  return { url, method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(params) }
}

/** A list becomes one parameter for each of its values. Objects become JSON. */
function withParams(url: URL, params: Readonly<Record<string, unknown>>): URL {
  const filled = new URL(url)
  for (const [name, value] of Object.entries(params))
    for (const each of [value].flat()) if (each !== null) filled.searchParams.append(name, queryText(each))
  return filled
}

async function settle(
  tx: Writer,
  held: HeldPayment,
  { answer, failure }: Awaited<ReturnType<typeof proxy>>,
  { clock }: ServiceContext,
): Promise<PaywallOutcome | Problem> {
  const paymentStatus = answer && answer.status < 500 ? 'posted' : 'reversed'
  if (!(await settlePayment(tx, held, { status: paymentStatus, at: clock.now() })))
    // The run was taken over, or someone replaced the state.
    return failed(held, 'The payment was reversed before the upstream service answered.')
  return answer ? { kind: 'answered', paymentId: held.id, paymentStatus, ...answer } : failed(held, failure)
}

/** Media types of which each part is useful by itself. */
const isStream = ({ contentType }: UpstreamAnswer): boolean =>
  /^(text\/event-stream|application\/(x-ndjson|jsonl|json-seq|stream\+json)|multipart\/x-mixed-replace)\b/i.test(
    contentType ?? '',
  )

const failed = ({ id }: HeldPayment, detail: string): Problem =>
  problem('upstream_failed', { detail, headers: paymentHeaders(id, 'reversed') })

export const paymentHeaders = (id: number, status: 'posted' | 'reversed') => ({
  'x-payment-id': String(id),
  'x-payment-status': status,
})
