import { isAccountOrUser, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { quoted } from '../../base/text/quotation.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import type { Party } from '../../consent/personas/spending.js'
import { sellerOf } from '../../identity/accounts/account.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount, toUnits } from '../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../money/ledger/balance.js'
import { primaryTwin, type TwinRow, twinByHostname, twins } from '../../money/twins/twin.js'
import { checkPayer, type PayingCaller } from '../../payments/payments/payer.js'
import type { Reader } from '../../storage/storage.js'
import { checkEndpointForSale, itemCalledAt } from '../catalog/for-sale.js'

export interface PaywallRequest {
  /** In the digital quantity. */
  readonly amount: number
  /** Default: that of the payer. */
  readonly dq?: string | undefined
  /** Hostname of the payee's twin. Default: the twin of the catalog item whose endpoint is `serviceUrl`. */
  readonly destination?: string | undefined
  readonly serviceUrl?: string | undefined
  readonly serviceMethod?: 'GET' | 'POST' | 'PUT' | undefined
  readonly additionalParams?: Readonly<Record<string, unknown>> | undefined
}

export interface PaywallCaller {
  readonly caller: PayingCaller
  /** The session whose user approves the payment by second factor. Undefined: it needs none. */
  readonly session: { readonly userId: number; readonly sessionId: string } | undefined
  /** The account of the embed or publishable secret. Default payee: its primary twin. */
  readonly sellerId: number | undefined
  /** Origin of the calling page. */
  readonly origin: string | undefined
}

export interface PaywallOrder extends PaywallCaller {
  readonly request: PaywallRequest
  /** The upstream service to call, already checked. */
  readonly url: URL | undefined
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

export interface PaywallQuote {
  readonly payer: TwinRow
  readonly payee: TwinRow
  readonly quantity: DigitalQuantityRow
  /** Smallest units, above zero. */
  readonly amount: bigint
  readonly descriptor: string
}

/**
 * The only place where the amount and digital quantity of an order are resolved: what is counted, approved and moved is
 * the quote. `dq` is that of an order which names none. Throws `destination_unknown`, `item_inactive`, `same_twin`.
 */
export async function paywallQuote(tx: Reader, order: PayeeOrder, payer: TwinRow, dq = payer.dq) {
  const { quantity, amount } = await paywallPrice(tx, order.request.amount, order.request.dq ?? dq)
  const payee = await findPayee(tx, order)
  if (!payee) throw problem('destination_unknown')
  if (order.url) await checkEndpointForSale(tx, order.url, payee.owner)
  if (payee.id === payer.id) throw problem('same_twin')
  return { payer, payee, quantity, amount, descriptor: order.url?.host ?? 'PAYWALL' }
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

type PayeeOrder = Pick<PaywallOrder, 'request' | 'sellerId' | 'url'>

async function findPayee(tx: Reader, { request: { destination }, sellerId, url }: PayeeOrder) {
  if (destination !== undefined) {
    const named = await twinByHostname(tx, destination)
    if (named && isAccountOrUser(named.owner)) return named
    throw problem('destination_unknown', { detail: `No twin has the hostname "${destination}".` })
  }
  const sold = url && (await itemCalledAt(tx, url))
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
    amount: `${formatAmount(amount, quantity.decimals)} ${quantity.shortcode}`,
    dq: quantity.id,
  }
}

export async function paywallTerms(
  tx: Reader,
  { serviceUrl, serviceMethod, additionalParams }: PaywallRequest,
  { payee, quantity, amount }: PaywallQuote,
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
