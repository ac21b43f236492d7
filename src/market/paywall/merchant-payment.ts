import { canSpend, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import { quoted, withoutLinks } from '../../base/text/quotation.js'
import { awaitSecondFactor, spendAwaited } from '../../consent/second-factor/await-second-factor.js'
import type { AuthenticationRequestRow } from '../../consent/second-factor/request.js'
import {
  createStandingApproval,
  isApprovedBefore,
  STANDING_DAYS,
} from '../../consent/second-factor/standing-approval.js'
import type { StandingTerms } from '../../consent/second-factor/wording.js'
import type { ServiceContext, StoreAnswer } from '../../http/context.js'
import { sellerOf } from '../../identity/accounts/account.js'
import { moneyText } from '../../money/ledger/amount.js'
import { primaryTwin, type TwinRow, twinNamed, twins } from '../../money/twins/twin.js'
import { postPayment } from '../../payments/payments/held-payment.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { itemCalledAt } from '../catalog/item-row.js'
import { checkFunds, type PaywallQuote, paywallPrice } from './paywall.js'

export interface MerchantOrder {
  readonly payer: Owner
  readonly userId: number
  readonly sessionId: string
  /** The page that calls with a page session. Its user approves every payment. */
  readonly page: { readonly sellerId: number; readonly origin: string } | undefined
  readonly dq: string
  /** In the digital quantity. */
  readonly amount: number
  /** Names the payee's twin: its hostname, address or URL, or the endpoint of a catalog item. */
  readonly destinationUrl: string
  /** The caller's own words. They prove nothing, and nothing depends on them. */
  readonly merchantName: string | undefined
}

export type MerchantPayment = Awaited<ReturnType<typeof pay>>

interface MerchantQuote extends PaywallQuote {
  readonly merchant: string
  readonly merchantUrl: string
}

/** Pays a merchant once the user approves. The approval of a session's request stands for its later payments, a page's does not. */
export async function createMerchantPayment(
  order: MerchantOrder,
  service: ServiceContext,
  storeAnswer: StoreAnswer<MerchantPayment>,
): Promise<MerchantPayment> {
  const { storage, clock } = service
  const paid = order.page
    ? undefined
    : await storage.write(async (tx) => {
        const quote = await merchantQuote(tx, order)
        const isApproved = await isApprovedBefore(tx, order.userId, standingTerms(quote), clock.now())
        return isApproved ? storeAnswer(tx, await pay(tx, order, quote, clock.now())) : undefined
      })
  if (paid) return paid
  const request = await storage.read(async (tx) => secondFactorRequest(order, await merchantQuote(tx, order)))
  const approved = await awaitSecondFactor(service, request)
  return storage.write(async (tx) => storeAnswer(tx, await payApproved(tx, order, approved, clock.now())))
}

async function payApproved(tx: Writer, order: MerchantOrder, approved: AuthenticationRequestRow, at: number) {
  const quote = await merchantQuote(tx, order)
  await spendAwaited(tx, approved, secondFactorRequest(order, quote), at)
  if (approved.standing) createStandingApproval(tx, approved, approved.standing, at)
  return pay(tx, order, quote, at)
}

async function merchantQuote(tx: Reader, order: MerchantOrder): Promise<MerchantQuote> {
  const payer = await primaryTwin(tx, order.payer)
  if (!payer) throw problem('not_found', { detail: 'You have no twin to pay from.' })
  const { payee, merchantUrl } = await merchantAt(tx, order.destinationUrl)
  const { quantity, amount } = await paywallPrice(tx, order.amount, order.dq)
  if (payee.id === payer.id) throw problem('same_twin')
  const quote = { payer, payee, quantity, amount, descriptor: 'PAYWALL' }
  await checkFunds(tx, quote)
  return { ...quote, merchant: await sellerOf(tx, payee), merchantUrl }
}

/** The twin behind a destination. `merchantUrl` is made of what the service knows. Throws `not_found`. */
async function merchantAt(tx: Reader, destination: string): Promise<{ payee: TwinRow; merchantUrl: string }> {
  const named = await twinNamed(tx, destination)
  if (named && canSpend(named.owner)) return { payee: named, merchantUrl: named.hostname }
  const url = parsedUrl(destination)
  const sold = url && (await itemCalledAt(tx, url))
  const payee = sold && (await tx.get(twins, sold.twin_id))
  if (!payee) throw problem('not_found', { detail: 'No wallet and no catalog item is at `destinationUrl`.' })
  return { payee, merchantUrl: `${url.origin}${url.pathname}` }
}

const standingTerms = ({ payee, quantity, amount }: PaywallQuote): StandingTerms => ({
  payee_twin_id: payee.id,
  dq: quantity.id,
  amount: String(amount),
})

/** What the user is asked to approve. Exactly this is paid. */
function secondFactorRequest({ userId, sessionId, page, merchantName }: MerchantOrder, quote: MerchantQuote) {
  const { merchant, merchantUrl, payee, quantity, amount } = quote
  const price = moneyText(amount, quantity)
  const detail = {
    merchant_name: merchant,
    merchant_url: merchantUrl,
    payee: payee.hostname,
    amount: price,
    dq: quantity.id,
    ...(page
      ? { page: page.origin }
      : {
          later_payments: `At most ${price} each, to the same payee, for ${STANDING_DAYS} days or until you revoke it`,
        }),
    ...(merchantName !== undefined && { the_caller_says: quoted(withoutLinks(merchantName)) }),
  }
  return {
    ...{ userId, sessionId, action: 'paywall', detail, deniedAs: 'payment_denied' as const },
    asker: page && `page:${page.sellerId}:${page.origin}`,
    standing: page ? undefined : standingTerms(quote),
  } as const
}

async function pay(tx: Writer, { payer: actor }: MerchantOrder, quote: MerchantQuote, at: number) {
  const { payer, payee, quantity, amount, descriptor, merchant } = quote
  const terms = { kind: 'paywall', hash: null, descriptor, dq: quantity.id, amount, payer, payee, actor } as const
  const payment = await postPayment(tx, { ...terms, delegate: null, at })
  const { id: transaction_id, amount: paid, created_at: timestamp } = payment
  return { status: 'success' as const, transaction_id, amount: paid, merchant, timestamp }
}
