import { type Problem, problem } from '../../base/problem.js'
import { checkHops } from '../../base/via.js'
import { agentTwinOf, permittedTwin } from '../../consent/approvals/permit.js'
import { countSpending, grantedAuthority } from '../../consent/personas/spending.js'
import { awaitSecondFactor, spendAwaited } from '../../consent/second-factor/await-second-factor.js'
import type { AuthenticationRequestRow } from '../../consent/second-factor/request.js'
import type { ServiceContext } from '../../http/context.js'
import type { StoreAnswer } from '../../http/stored-answer.js'
import { runFlow } from '../../jobs/flows/flow.js'
import { callUpstream, readWhole, type UpstreamAnswer, UpstreamFailure } from '../../jobs/upstream/call.js'
import { checkUpstreamUrl } from '../../jobs/upstream/policy.js'
import { payingTwin, type TwinRow } from '../../money/twins/twin.js'
import {
  type HeldPayment,
  heldPayments,
  holdPayment,
  type PaymentTerms,
  postPayment,
  reversePayment,
  settlePayment,
} from '../../payments/payments/held-payment.js'
import type { ShownPayment } from '../../payments/payments/payment.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { bearerOf } from '../purchases/buy.js'
import { spendCalls } from '../purchases/call-limits.js'
import { paywallTerms } from './approval.js'
import {
  checkFunds,
  detailOf,
  type PaywallAuthority,
  type PaywallOrder,
  type PaywallQuote,
  paywallQuote,
} from './order.js'
import { type ServiceCall, upstreamRequest } from './service-call.js'

/** How a call of the paywall ended. */
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

export interface PaywallCall {
  readonly order: Omit<PaywallOrder, 'url'>
  /** URL of the upstream service, as the caller sent it. */
  readonly serviceUrl: string | undefined
  readonly call: ServiceCall
  /** Hops of the request, as `hopsIn` counts them. */
  readonly hops: number
  /** Whether the answer must be read completely because it will be stored. */
  readonly whole: boolean
}

/**
 * Takes a payment, and calls the upstream service if one is named. An answer below status 500 posts the payment, any
 * other reverses it.
 * Throws `too_many_hops`, `upstream_refused`, `too_many_calls`, and what `paywallQuote`, `awaitSecondFactor` and `grantedAuthority` throw,
 * before any value moves, and `upstream_failed` afterwards.
 */
export async function callPaywall(
  paywall: PaywallCall,
  service: ServiceContext,
  storeAnswer: StoreAnswer<PaywallOutcome | Problem>,
): Promise<PaywallOutcome> {
  const { serviceUrl, hops } = paywall
  if (serviceUrl !== undefined) checkHops(hops)
  const url = serviceUrl === undefined ? undefined : checkUpstreamUrl(serviceUrl, service)
  const order = { ...paywall.order, url }
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
  const { authority } = order
  if (authority.by !== 'session') return undefined
  const asking = await service.storage.read(async (tx) =>
    secondFactorRequest(tx, order, await fundedQuote(tx, order, await payingTwin(tx, authority.payer)), authority),
  )
  return awaitSecondFactor(service, asking)
}

const secondFactorRequest = async (
  tx: Reader,
  order: PaywallOrder,
  quote: PaywallQuote,
  { userId, sessionId }: AuthorityBy<'session'>,
) => ({ userId, sessionId, action: 'paywall', detail: await detailOf(tx, order, quote), asker: askerOf(order) })

/** Limits for a page's requests are separate from those of the user. */
const askerOf = ({ origin, sellerId }: PaywallOrder): string | undefined =>
  origin === undefined ? undefined : `page:${sellerId}:${origin}`

/** Returns the terms of the payment, spends its authority, and counts the call. */
async function termsOf(
  tx: Writer,
  order: PaywallOrder,
  approved: Approved,
  service: ServiceContext,
): Promise<PaymentTerms> {
  const at = service.clock.now()
  const { authority, actor, url } = order
  const { payer, payee, quantity, amount, descriptor } = await spentQuote(tx, order, approved, at)
  const bearer = authority.by === 'delegate' ? bearerOf(authority.party, payer) : payer.owner
  // The host may be anybody's, and the payer may pay themselves.
  if (url) await spendCalls(tx, [{ endpoint: url.href, amount, calls: 1 }], { bearer, at }, service)
  const delegate = authority.by === 'delegate' ? authority.hash : null
  return { kind: 'paywall', hash: null, descriptor, dq: quantity.id, amount, payer, payee, actor, delegate, at }
}

/** Quotes an order and spends the authority for exactly that quote. */
async function spentQuote(tx: Writer, order: PaywallOrder, approved: Approved, at: number): Promise<PaywallQuote> {
  const { authority } = order
  if (authority.by === 'agent') {
    const quote = await paywallQuote(tx, order, await agentTwinOf(tx, authority.agent))
    await spendAgentApproval(tx, authority, quote, at)
    return quote
  }
  if (authority.by === 'delegate') {
    const { hash: delegate, party } = authority
    const granted = await grantedAuthority(tx, { delegate, party, at })
    const quote = await paywallQuote(tx, order, granted.twin, granted.spend.dq)
    await countSpending(tx, granted, { dq: quote.quantity.id, amount: quote.amount })
    await checkFunds(tx, quote)
    return quote
  }
  const quote = await fundedQuote(tx, order, await payingTwin(tx, authority.payer))
  if (approved && authority.by === 'session')
    await spendAwaited(tx, approved, await secondFactorRequest(tx, order, quote, authority), at)
  return quote
}

type AuthorityBy<By extends PaywallAuthority['by']> = PaywallAuthority & { by: By }

async function fundedQuote(tx: Reader, order: PaywallOrder, payer: TwinRow): Promise<PaywallQuote> {
  const quote = await paywallQuote(tx, order, payer)
  await checkFunds(tx, quote)
  return quote
}

async function spendAgentApproval(
  tx: Writer,
  authority: AuthorityBy<'agent'>,
  quote: PaywallQuote,
  at: number,
): Promise<void> {
  const { agent, request, approvalId } = authority
  const terms = await paywallTerms(tx, request, quote)
  const sums = new Map([[quote.quantity.id, quote.amount]])
  await permittedTwin(tx, agent, { terms, wish: { kind: 'paywall', ...request }, sums, approvalId, at })
}

/** Calls the upstream service. Without an answer there is a `failure`. */
async function proxy({ call, whole, hops }: PaywallCall, url: URL, service: ServiceContext) {
  try {
    const answer = await callUpstream(service, { ...upstreamRequest(url, call), hops })
    const { status, contentType } = answer
    // Reads the whole answer before it settles the payment. Event streams are relayed as they arrive.
    const body = whole || !isStream(answer) ? await readWhole(answer) : answer.body
    return { answer: { status, contentType, body }, failure: '' }
  } catch (error) {
    if (error instanceof UpstreamFailure) return { answer: undefined, failure: error.message }
    throw error
  }
}

/** Settles the payment by the answer of the upstream service. */
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
