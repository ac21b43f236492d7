import { isAccountOrUser, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import type { Agent } from '../../consent/approvals/approval.js'
import type { Party } from '../../consent/personas/spending.js'
import { sellerOf } from '../../identity/accounts/account.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount, toUnits } from '../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../money/ledger/balance.js'
import { primaryTwin, type TwinRow, twinByHostname, twins } from '../../money/twins/twin.js'
import type { Reader } from '../../storage/storage.js'
import { checkEndpointForSale, itemCalledAt } from '../catalog/for-sale.js'

/** The authority by which a caller makes a user pay. */
export type PaywallAuthority =
  /** The user's own token. */
  | { readonly by: 'token'; readonly payer: Owner }
  /** The user's session. The user approves each payment by second factor. */
  | { readonly by: 'session'; readonly payer: Owner; readonly userId: number; readonly sessionId: string }
  /** The user's agent, with an approval. */
  | {
      readonly by: 'agent'
      readonly agent: Agent
      readonly request: PaywallRequest
      readonly approvalId: string | undefined
    }
  /** A delegate of the user's persona, which the caller spends. */
  | { readonly by: 'delegate'; readonly hash: string; readonly party: Party }

/** A request to the paywall as the caller sent it. */
export interface PaywallRequest {
  readonly amount: number
  readonly dq?: string | undefined
  readonly destination?: string | undefined
  readonly serviceUrl?: string | undefined
  readonly serviceMethod?: 'GET' | 'POST' | 'PUT' | undefined
  readonly additionalParams?: Readonly<Record<string, unknown>> | undefined
}

/** What to pay, to whom, and for what. */
export interface PaywallOrder {
  readonly authority: PaywallAuthority
  /** Actor of the events: an owner, or the client id of an app. */
  readonly actor: string
  /** In the digital quantity. */
  readonly amount: number
  /** Default: that of the payer. */
  readonly dq: string | undefined
  /** Hostname of the payee's twin. Default: the twin of the catalog item whose endpoint is `url`. */
  readonly destination: string | undefined
  /** The account of the embed or publishable secret. Default payee: its primary twin. */
  readonly sellerId: number | undefined
  /** Origin of the calling page. */
  readonly origin: string | undefined
  /** The upstream service to call, already checked. */
  readonly url: URL | undefined
}

/** An order with its current payer, payee and amount. */
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
 * the quote. `dq` is that of an order which names none.
 * Throws `dq_unknown`, `amount_invalid`, `destination_unknown`, `item_inactive`, `same_twin`.
 */
export async function paywallQuote(
  tx: Reader,
  order: PaywallOrder,
  payer: TwinRow,
  dq = payer.dq,
): Promise<PaywallQuote> {
  const { quantity, amount } = await paywallPrice(tx, order, order.dq ?? dq)
  const payee = await payeeOf(tx, order)
  if (payee.id === payer.id) throw problem('same_twin')
  return { payer, payee, quantity, amount, descriptor: order.url?.host ?? 'PAYWALL' }
}

/** Throws `insufficient_funds`. */
export async function checkFunds(tx: Reader, { payer, quantity, amount }: PaywallQuote): Promise<void> {
  if (spendable(await balanceOf(tx, payer.id, quantity.id)) < amount) throw problem('insufficient_funds')
}

/** Throws `dq_unknown`, `amount_invalid`. */
export async function paywallPrice(tx: Reader, order: Pick<PaywallOrder, 'amount'>, dq: string) {
  const quantity = await quantityOf(tx, dq)
  const amount = toUnits(order.amount, quantity.decimals)
  if (amount === 0n) throw problem('amount_invalid', { detail: 'The amount must be above zero.' })
  return { quantity, amount }
}

async function payeeOf(tx: Reader, order: PaywallOrder): Promise<TwinRow> {
  const payee = await findPayee(tx, order)
  if (!payee) throw problem('destination_unknown')
  if (order.url) await checkEndpointForSale(tx, order.url, payee.owner)
  return payee
}

async function findPayee(tx: Reader, { destination, sellerId, url }: PaywallOrder): Promise<TwinRow | undefined> {
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
