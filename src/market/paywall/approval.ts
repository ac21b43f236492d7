import { quoted } from '../../base/text/quotation.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import { sellerOf } from '../../identity/accounts/account.js'
import type { Reader } from '../../storage/storage.js'
import type { PaywallQuote, PaywallRequest } from './order.js'

/** Returns what an agent's user approves: the call with its parameters, the payee and the amount. */
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
