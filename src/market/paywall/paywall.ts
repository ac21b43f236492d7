import { checkHops } from '../../base/via.js'
import { agentTwinOf, permittedTwin } from '../../consent/approvals/permit.js'
import { delegates } from '../../consent/personas/delegate.js'
import { spendAuthority } from '../../consent/personas/spending.js'
import { awaitSecondFactor, spendAwaited } from '../../consent/second-factor/await-second-factor.js'
import type { AuthenticationRequestRow } from '../../consent/second-factor/request.js'
import type { ServiceContext } from '../../http/context.js'
import { callUpstream, readWhole, type UpstreamAnswer, UpstreamFailure } from '../../jobs/upstream/call.js'
import { checkUpstreamUrl } from '../../jobs/upstream/policy.js'
import { firstQuantity } from '../../money/digital-quantities/digital-quantity.js'
import { payingTwin, type TwinRow } from '../../money/twins/twin.js'
import {
  type HeldPayment,
  holdPayment,
  type PaymentTerms,
  postPayment,
  settlePayment,
} from '../../payments/payments/held-payment.js'
import type { ShownPayment } from '../../payments/payments/payment.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { paywallTerms } from './approval.js'
import {
  checkFunds,
  detailOf,
  type PaywallAuthority,
  type PaywallOrder,
  type PaywallQuote,
  paywallPrice,
  paywallQuote,
} from './order.js'
import { type ServiceCall, upstreamRequest } from './service-call.js'

/** What came of a call of the paywall. */
export type PaywallOutcome =
  /** Nothing was to be called. */
  | { readonly kind: 'approved'; readonly payment: ShownPayment }
  /** What the upstream service answered. */
  | {
      readonly kind: 'answered'
      readonly paymentId: number
      readonly paymentStatus: 'posted' | 'reversed'
      readonly status: number
      readonly contentType: string | null
      readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
    }
  /** It gave no answer that could be passed on. */
  | { readonly kind: 'failed'; readonly paymentId: number; readonly reason: string }

/** Keeps what is answered under the caller's key, in the transaction of what it tells. */
export type KeepOutcome = (tx: Writer, outcome: PaywallOutcome, options?: { meanwhile: boolean }) => Promise<unknown>

export interface PaywallCall {
  readonly order: Omit<PaywallOrder, 'url'>
  /** Of the upstream service to be called, as the caller sent it. */
  readonly serviceUrl: string | undefined
  readonly call: ServiceCall
  /** Of the request, as `hopsIn` counts them. */
  readonly hops: number
  /** Whether the answer has to be there in one piece, as it is kept. */
  readonly whole: boolean
  readonly keep: KeepOutcome
}

/**
 * Has a payer pay, and where an upstream service is named calls that: it is paid when it answers below 500.
 * Throws, before anything has moved, `too_many_hops`, `upstream_refused` and what `quoteOf`, `askAndWait` and `spendAuthority` throw.
 */
export async function callPaywall(paywall: PaywallCall, service: ServiceContext): Promise<PaywallOutcome> {
  const { serviceUrl, keep, hops } = paywall
  if (serviceUrl !== undefined) checkHops(hops)
  const url = serviceUrl === undefined ? undefined : checkUpstreamUrl(serviceUrl, service)
  const order = { ...paywall.order, url }
  const asked = await askPayer(order, service)
  if (!url) return service.storage.write((tx) => pay(tx, order, { asked, keep }, service))
  const held = await service.storage.write((tx) => holdAmount(tx, order, { asked, keep }, service))
  const proxying = proxy({ ...paywall, url }, held, service).finally(() => service.ongoing.delete(held.token))
  service.ongoing.set(held.token, proxying)
  return proxying
}

type Asked = AuthenticationRequestRow | undefined

/** The second factor of a session: asked for once it is known that nothing else stands in the way. */
async function askPayer(order: PaywallOrder, service: ServiceContext): Promise<Asked> {
  const { authority } = order
  if (authority.by !== 'session') return undefined
  const asking = await service.storage.read(async (tx) =>
    askingFor(tx, order, await fundedQuote(tx, order, await payingTwin(tx, authority.payer)), authority),
  )
  return awaitSecondFactor(service, asking)
}

const askingFor = async (
  tx: Reader,
  order: PaywallOrder,
  quote: PaywallQuote,
  { userId, sessionId }: PaywallAuthority & { by: 'session' },
) => ({ userId, sessionId, action: 'paywall', detail: await detailOf(tx, order, quote), asker: askerOf(order) })

/** What a page asks counts apart from what the user does. */
const askerOf = ({ origin, sellerId }: PaywallOrder): string | undefined =>
  origin === undefined ? undefined : `page:${sellerId}:${origin}`

interface Step {
  readonly asked: Asked
  readonly keep: KeepOutcome
}

async function pay(tx: Writer, order: PaywallOrder, { asked, keep }: Step, service: ServiceContext) {
  const payment = await postPayment(tx, await termsOf(tx, order, asked, service.clock.now()))
  const outcome = { kind: 'approved', payment } as const
  await keep(tx, outcome)
  return outcome
}

async function holdAmount(tx: Writer, order: PaywallOrder, { asked, keep }: Step, service: ServiceContext) {
  const held = await holdPayment(tx, await termsOf(tx, order, asked, service.clock.now()), service)
  // What stands should this process not live to say more: the payment is reversed then.
  await keep(tx, { kind: 'failed', paymentId: held.id, reason: 'The call broke off.' }, { meanwhile: true })
  return held
}

/** What is paid, by an authority that is spent here. */
async function termsOf(tx: Writer, order: PaywallOrder, asked: Asked, at: number): Promise<PaymentTerms> {
  const { authority, actor } = order
  const payer = await payerOf(tx, order, at)
  const quote = authority.by === 'agent' ? await paywallQuote(tx, order, payer) : await fundedQuote(tx, order, payer)
  if (asked && authority.by === 'session')
    await spendAwaited(tx, asked, await askingFor(tx, order, quote, authority), at)
  if (authority.by === 'agent') await permit(tx, authority, quote, at)
  const { payee, quantity, amount, descriptor } = quote
  const delegate = authority.by === 'delegate' ? authority.hash : null
  return { kind: 'paywall', hash: null, descriptor, dq: quantity.id, amount, payer, payee, actor, delegate, at }
}

async function fundedQuote(tx: Reader, order: PaywallOrder, payer: TwinRow): Promise<PaywallQuote> {
  const quote = await paywallQuote(tx, order, payer)
  await checkFunds(tx, quote)
  return quote
}

async function permit(
  tx: Writer,
  right: PaywallAuthority & { by: 'agent' },
  quote: PaywallQuote,
  at: number,
): Promise<void> {
  const { agent, wish, approvalId } = right
  const terms = await paywallTerms(tx, wish, quote)
  const sums = new Map([[quote.quantity.id, quote.amount]])
  await permittedTwin(tx, agent, { terms, wish: { kind: 'paywall', ...wish }, sums, approvalId, at })
}

async function payerOf(tx: Writer, order: PaywallOrder, at: number): Promise<TwinRow> {
  const { authority } = order
  if (authority.by === 'agent') return agentTwinOf(tx, authority.agent)
  if (authority.by !== 'delegate') return payingTwin(tx, authority.payer)
  const { hash: delegate, party } = authority
  const limited = (await tx.get(delegates, delegate))?.spend?.dq
  const { quantity, amount } = await paywallPrice(tx, order, limited ?? (await firstQuantity(tx)).id)
  return spendAuthority(tx, { delegate, party, dq: quantity.id, amount, at })
}

/** Calls the upstream service, and settles the payment by how it answers. */
async function proxy(
  { url, call, whole, keep, hops }: PaywallCall & { readonly url: URL },
  held: HeldPayment,
  service: ServiceContext,
): Promise<PaywallOutcome> {
  const settle = (status: 'posted' | 'reversed', outcome: (settled: 'posted' | 'reversed') => PaywallOutcome) =>
    service.storage.write(async (tx) => {
      // Whoever put another state in place of this one took the payment with it.
      const settled = await settlePayment(tx, held, { status, at: service.clock.now() })
      const told = settled ? outcome(status) : failed(held, 'The payment was taken back meanwhile.')
      await keep(tx, told)
      return told
    })
  try {
    const answer = await callUpstream(service, { ...upstreamRequest(url, call), hops })
    // An answer is seen to be whole before it is paid for, unless it is of those that are read as they come.
    const body = whole || !isStream(answer) ? await readWhole(answer) : answer.body
    return await settle(answer.status < 500 ? 'posted' : 'reversed', (status) => answered(held, answer, body, status))
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error
    return settle('reversed', () => failed(held, error.message))
  }
}

/** Media types of one part after the other, each of which is of use by itself. */
const isStream = ({ contentType }: UpstreamAnswer): boolean =>
  /^(text\/event-stream|application\/(x-ndjson|jsonl|json-seq|stream\+json)|multipart\/x-mixed-replace)\b/i.test(
    contentType ?? '',
  )

const failed = ({ id }: HeldPayment, reason: string): PaywallOutcome => ({ kind: 'failed', paymentId: id, reason })

const answered = (
  { id }: HeldPayment,
  { status, contentType }: UpstreamAnswer,
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  paymentStatus: 'posted' | 'reversed',
): PaywallOutcome => ({ kind: 'answered', paymentId: id, paymentStatus, status, contentType, body })
