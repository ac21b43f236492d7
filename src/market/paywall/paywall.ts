import { callingAccount, canSpend, type Owner } from '../../base/owner.js'
import { type Problem, problem } from '../../base/problem.js'
import { quoted } from '../../base/text/quotation.js'
import { checkHops } from '../../base/via.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import { actorOf, ownerOfParty, type Party } from '../../consent/personas/spending.js'
import { awaitSecondFactor, spendAwaited } from '../../consent/second-factor/await-second-factor.js'
import type { AuthenticationRequestRow } from '../../consent/second-factor/request.js'
import type { ServiceContext, StoreAnswer } from '../../http/context.js'
import { sellerOf } from '../../identity/accounts/account.js'
import { runFlow } from '../../jobs/flows/flow.js'
import { callUpstream, readWhole, type UpstreamAnswer, UpstreamFailure } from '../../jobs/upstream/call.js'
import { checkUpstreamUrl, queryText } from '../../jobs/upstream/policy.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText, toUnits } from '../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../money/ledger/movement.js'
import { payingTwin, primaryTwin, type TwinRow, twinByHostname, twins } from '../../money/twins/twin.js'
import {
  type HeldPayment,
  heldPayments,
  holdPayment,
  type PaymentTerms,
  postPayment,
  reversePayment,
  settlePayment,
} from '../../payments/payments/held-payment.js'
import { bearerOf, checkPayer, type PayingCaller, spendPayer } from '../../payments/payments/payer.js'
import type { ShownPayment } from '../../payments/payments/payment.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { checkEndpointForSale, itemCalledAt } from '../catalog/item-row.js'
import { isDelivery } from '../purchases/fulfilment.js'
import { spendCalls } from '../purchases/purchase.js'

export type PaywallOutcome =
  | { readonly kind: 'approved'; readonly payment: ShownPayment }
  | {
      readonly kind: 'answered'
      readonly paymentId: number
      readonly paymentStatus: 'posted' | 'reversed'
      readonly status: number
      readonly contentType: string | null
      readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
    }

interface PaywallCall extends PaywallCaller {
  readonly request: PaywallRequest
  readonly hops: number
  /** Whether the answer must be read completely because it will be stored. */
  readonly whole: boolean
}

/** Takes a payment, and calls a service. An answer below 500, but 402, posts it, others reverse it, and `upstream_failed` is thrown. */
export async function callPaywall(
  paywall: PaywallCall,
  service: ServiceContext,
  storeAnswer: StoreAnswer<PaywallOutcome | Problem>,
): Promise<PaywallOutcome> {
  const within = callingAccount(paywall.caller.party)
  const order = { ...paywall, url: checkedUpstream(paywall, service), within }
  const approved = await requestSecondFactor(order, service)
  const pay: PayPaywall = async (tx, take) => take(await termsOf(tx, order, approved, service))
  return runPaywall({ ...order, pay }, service, storeAnswer)
}

/** The URL that a call of the paywall calls. Undefined: none. Throws `too_many_hops`, `upstream_refused`. */
export function checkedUpstream(
  { request: { serviceUrl }, hops }: Pick<PaywallCall, 'request' | 'hops'>,
  service: ServiceContext,
): URL | undefined {
  if (serviceUrl === undefined) return undefined
  checkHops(hops)
  return checkUpstreamUrl(serviceUrl, service)
}

/** Spends what allows the payer to pay, in the transaction in which `take` moves or holds the value. */
export type PayPaywall = <Taken extends { readonly id: number }>(
  tx: Writer,
  take: (terms: PaymentTerms) => Promise<Taken>,
) => Promise<Taken>

interface PaywallRun extends Pick<PaywallCall, 'request' | 'hops' | 'whole'> {
  readonly url: URL | undefined
  readonly pay: PayPaywall
}

/** Takes a payment and calls a service, whoever pays. */
export const runPaywall = (
  paywall: PaywallRun,
  service: ServiceContext,
  storeAnswer: StoreAnswer<PaywallOutcome | Problem>,
): Promise<PaywallOutcome> =>
  runFlow('paywall', service, async (run) => {
    const { url, pay } = paywall
    if (!url)
      return run.transaction('pay', async (tx) =>
        storeAnswer(tx, { kind: 'approved', payment: await pay(tx, (terms) => postPayment(tx, terms)) }),
      )
    const held = await run.transaction(
      'hold the amount',
      async (tx) => {
        const held = await pay(tx, (terms) => holdPayment(tx, { ...terms, token: run.token }, service))
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

type Approved = AuthenticationRequestRow | undefined

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

async function termsOf(tx: Writer, order: PaywallOrder, approved: Approved, service: ServiceContext) {
  const at = service.clock.now()
  const { caller, url } = order
  const { party, delegate = null } = caller
  const quote = await spentQuote(tx, order, approved, at)
  const bearer = bearerOf(party, quote.payer)
  await spendCalls(tx, callsOf(url, quote), { bearer, at }, service)
  return { ...paymentTerms(quote), payer: quote.payer, actor: actorOf(party), delegate, at }
}

/** The host may be anybody's, and the payer may pay themselves. */
export const callsOf = (url: URL | undefined, { amount }: Pick<PaywallOffer, 'amount'>) =>
  url ? [{ endpoint: url.href, amount, calls: 1 }] : []

export const paymentTerms = ({ payee, quantity, amount, descriptor }: PaywallOffer) =>
  ({ kind: 'paywall', hash: null, descriptor, dq: quantity.id, amount, payee }) as const

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

async function proxy({ request, whole, hops }: PaywallRun, url: URL, service: ServiceContext) {
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
  const paymentStatus = answer && isDelivery(answer.status) ? 'posted' : 'reversed'
  if (!(await settlePayment(tx, held, { status: paymentStatus, at: clock.now() })))
    // The run was taken over, or someone replaced the state.
    return failed(held, 'The payment was reversed before the upstream service answered.')
  return answer ? { kind: 'answered', paymentId: held.id, paymentStatus, ...answer } : failed(held, failure)
}

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

/** Without `destination`, the payee is the twin of the catalog item whose endpoint is `serviceUrl`. */
export interface PaywallRequest {
  readonly amount: number
  readonly dq?: string | undefined
  readonly serviceUrl?: string | undefined
  readonly serviceMethod?: 'GET' | 'POST' | 'PUT' | undefined
  readonly additionalParams?: Readonly<Record<string, unknown>> | undefined
  readonly destination?: string | undefined
}

interface PaywallCaller {
  readonly caller: PayingCaller
  /** The session whose user approves the payment by second factor. Undefined: it needs none. */
  readonly session: { readonly userId: number; readonly sessionId: string } | undefined
  /** The account of the embed or publishable secret. Default payee: its primary twin. */
  readonly sellerId: number | undefined
  readonly origin: string | undefined
}

interface PaywallOrder extends PaywallCaller {
  readonly request: PaywallRequest
  readonly url: URL | undefined
  /** The account that pays, which may pay for its own private items. */
  readonly within?: number | undefined
}

/** Finds out who pays for a principal's call. Throws `delegate_required`. */
export function paywallCaller(
  principal:
    | Exclude<Party, { kind: 'user' }>
    | (Extract<Party, { kind: 'user' }> & { readonly via: 'token' | 'session' })
    | PagePrincipal,
  { sessionId = '', ...sent }: Omit<PayingCaller, 'party'> & { readonly sessionId: string | undefined },
): PaywallCaller {
  if (principal.kind === 'page') {
    const { owner, user_id: id, account_id: sellerId, origin } = principal
    // A page cannot use a delegate, because that would bypass the user's approval.
    return { caller: { party: { kind: 'user', id, owner } }, session: { userId: id, sessionId }, sellerId, origin }
  }
  const caller = { party: principal, ...sent }
  checkPayer(caller)
  const asksUser = sent.delegate === undefined && principal.kind === 'user' && principal.via === 'session'
  return {
    caller,
    session: asksUser ? { userId: principal.id, sessionId } : undefined,
    sellerId: principal.kind === 'embed' ? principal.account_id : undefined,
    origin: undefined,
  }
}

interface PagePrincipal {
  readonly kind: 'page'
  readonly owner: Owner
  readonly user_id: number
  readonly account_id: number
  readonly origin: string
}

/** What a call of the paywall costs, and whom. */
export interface PaywallOffer {
  readonly payee: TwinRow
  readonly quantity: DigitalQuantityRow
  /** Smallest units, above zero. */
  readonly amount: bigint
  readonly descriptor: string
}

export interface PaywallQuote extends PaywallOffer {
  readonly payer: TwinRow
}

/**
 * The only place where the amount and digital quantity of an order are resolved: what is counted, approved and moved is
 * the offer. `dq` is that of an order which names none. Throws `destination_unknown`, `item_inactive`.
 */
export async function paywallOffer(tx: Reader, order: PayeeOrder, dq: string): Promise<PaywallOffer> {
  const { quantity, amount } = await paywallPrice(tx, order.request.amount, order.request.dq ?? dq)
  const payee = await findPayee(tx, order)
  if (!payee) throw problem('destination_unknown')
  if (order.url) await checkEndpointForSale(tx, order.url, payee.owner, order.within)
  return { payee, quantity, amount, descriptor: order.url?.host ?? 'PAYWALL' }
}

/** The offer for a payer. Throws what `paywallOffer` throws, and `same_twin`. */
export async function paywallQuote(
  tx: Reader,
  order: PayeeOrder,
  payer: TwinRow,
  dq = payer.dq,
): Promise<PaywallQuote> {
  const offer = await paywallOffer(tx, order, dq)
  if (offer.payee.id === payer.id) throw problem('same_twin')
  return { ...offer, payer }
}

/** Throws `insufficient_funds`. */
export async function checkFunds(tx: Reader, { payer, quantity, amount }: PaywallQuote): Promise<void> {
  if (spendable(await balanceOf(tx, payer.id, quantity.id)) < amount) throw problem('insufficient_funds')
}

/** Throws `dq_unknown`, `amount_invalid`. */
export async function paywallPrice(tx: Reader, amount: number, dq: string) {
  const quantity = await quantityOf(tx, dq)
  const units = toUnits(amount, quantity.decimals)
  if (units === 0n) throw problem('amount_invalid', { detail: 'The amount must be above zero.' })
  return { quantity, amount: units }
}

type PayeeOrder = Pick<PaywallOrder, 'request' | 'sellerId' | 'url' | 'within'>

async function findPayee(tx: Reader, { request: { destination }, sellerId, url, within }: PayeeOrder) {
  if (destination !== undefined) {
    const named = await twinByHostname(tx, destination)
    if (named && canSpend(named.owner)) return named
    throw problem('destination_unknown', { detail: `No twin has the hostname "${destination}".` })
  }
  const sold = url && (await itemCalledAt(tx, url, within))
  if (sold) return tx.get(twins, sold.twin_id)
  return sellerId === undefined ? undefined : primaryTwin(tx, `account:${sellerId}`)
}

/** Returns what a payer is asked to approve. Exactly this is paid. */
export async function detailOf(tx: Reader, { origin, url }: PaywallOrder, { payee, quantity, amount }: PaywallQuote) {
  const merchant_url = origin ?? url?.origin
  return {
    merchant_name: await sellerOf(tx, payee),
    ...(merchant_url !== undefined && { merchant_url }),
    ...(url && { service: `${url.origin}${url.pathname}` }),
    payee: payee.hostname,
    amount: moneyText(amount, quantity),
    dq: quantity.id,
  }
}

export async function paywallTerms(
  tx: Reader,
  { serviceUrl, serviceMethod, additionalParams }: PaywallRequest,
  { payee, quantity, amount }: PaywallOffer,
): Promise<ApprovalTerms> {
  const seller = await sellerOf(tx, payee)
  const value = priceDetail(quantity, amount)
  const called = serviceUrl === undefined ? {} : { serviceUrl, serviceMethod: serviceMethod ?? 'GET' }
  const params = additionalParams === undefined ? {} : { additionalParams }
  const service = serviceUrl === undefined ? '' : ` for ${quoted(serviceUrl)}`
  return {
    kind: 'paywall',
    detail: { seller, payee: payee.hostname, ...value, ...called, ...params },
    summary: `Pay ${value.price} to ${quoted(seller)}${service}`,
  }
}
