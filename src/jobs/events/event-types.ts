import { problem } from '../../base/problem.js'
import { suggestName } from '../../base/text/nearest-name.js'

/** What each type of event reports, in one sentence. Only the documentation reads the sentences: everything else imports the type. */
export const eventTypes = {
  // Signing in, and credentials
  sign_in: 'The user signed in. `by` says how, and `origin` names the page of an embed.',
  sign_out: 'A session of the user ended before its time.',
  sign_in_failed: 'Someone entered a wrong code for the address of the user.',
  'token.issued': 'Client credentials, or a refresh token, got a new access token.',
  'token.reused': 'A refresh token was used twice. All tokens from the same sign-in are revoked.',
  'user.email_verified':
    'The user entered a mailed code for the first time. `ended` counts what others could do before.',
  'user.secrets_created': 'The user has new client credentials.',
  'email.sent': 'A mail that someone waits for has left the service.',
  'email.bounced': 'A mail could not be delivered.',

  // The second factor
  'second_factor.requested': 'The user was asked to confirm an action. `by` says whether by push or by mail.',
  'second_factor.approved': 'The user approved an action. `by` says on what.',
  'second_factor.rejected': 'The user rejected an action.',
  'second_factor.expired': 'The user did not answer in time.',
  'second_factor.device_waits': 'A new device waits for a confirmation.',
  'second_factor.device_added': 'The user has a new device.',
  'second_factor.device_refused': 'A new device was rejected, or nobody confirmed it.',
  'second_factor.device_removal_waits': 'The removal of a device waits for a confirmation.',
  'second_factor.device_removed': 'A device of the user was removed.',

  // Apps and agents
  'connection.created': 'The user connected an app.',
  'connection.updated': 'The user connected a known app again, perhaps with other scopes or another account.',
  'connection.deleted': 'An app is disconnected. Its tokens and open approvals are gone.',
  'approval.requested': 'An agent requested an approval.',
  'approval.approved': 'The user approved what an agent requested.',
  'approval.rejected': 'The user rejected what an agent requested.',
  'approval.spent': 'An agent used its approval. It works no more.',
  'approval.expired': 'Nobody answered or used an approval in time.',
  'approval.threshold_changed': 'The user changed the amount up to which agents pay without an approval.',
  'delegate.created': 'A persona gave a delegate to a twin.',
  'delegate.revoked': 'A delegate of a persona was revoked.',

  // Accounts, twins and what they sell
  'account.created': 'The account was created.',
  'account.updated': 'The account changed its name, its address or its settings.',
  'account.payback_enabled': 'A commodity pays its users from now on.',
  'account.payback_disabled': 'A commodity no longer pays its users.',
  'twin.renamed': 'A twin has a new name.',
  'catalog.created': 'The account has a new catalog item.',
  'catalog.updated': 'A catalog item, or one of its hidden parameters, was changed.',
  'catalog.archived': 'A catalog item was archived. Nobody can buy it.',
  'catalog.restored': 'An archived catalog item is back.',

  // Value
  'payment.created': 'Value moved: a payment, a payback, a purchase, a call of the paywall or a top-up.',
  'payment.validated': 'The seller validated a payment. Its nonce is used.',
  'payment.reversed': 'A held payment went back to its payer.',
  'payment.failed':
    'A top-up got no value, because its card was not charged. `unknown_charge` names a charge without an answer.',
  'payment.unsettled': 'A payment could not be settled after many tries, and waits for an operator.',
  'purchase.paid': 'A purchase was delivered and paid.',
  'purchase.reversed': 'A purchase was not delivered. Its price went back to the buyer.',
  'transfer.completed': 'A transfer arrived.',
  'transfer.invited': 'A transfer waits until someone proves its email address.',
  'transfer.claimed': 'Someone proved the email address of a transfer, and has its value.',
  'transfer.cancelled': 'The sender cancelled a transfer that waited.',
  'transfer.expired': 'Nobody claimed a transfer in time. Its value went back to the sender.',
  'transfer.unsettled': 'A transfer could not be returned after many tries, and waits for an operator.',

  // Checkout links
  'checkout.created': 'A checkout link was created.',
  'checkout.paid': 'A checkout link was paid.',
  'checkout.expired': 'A checkout link expired unpaid.',
  'checkout.refunded': 'The charge of a checkout was refunded, because the purchase was not delivered.',
  'checkout.refund_refused': 'The card refused a refund. The value waits for the seller.',
  'checkout.refund_lost': 'The card processor never said how a refund ended. `unknown_refund` and `charge_id` name it.',
  'checkout.refund_settled': 'The seller settled a refund that did not reach the card.',
  'checkout.charge_lost': 'The card processor never said how a charge ended. `unknown_charge` names it.',
  'checkout.unsettled': 'A checkout could not be settled after many tries, and waits for an operator.',

  // Billing
  'billing.profile_updated': 'The account changed its billing profile.',
  'billing.card_updated': 'The account has a new billing card.',
  'billing.card_removed': 'The account removed its billing card.',
  'billing.plan_changed': 'The account has another plan.',
  'billing.plan_change_scheduled': 'The account gets another plan at the end of the period.',
  'billing.plan_change_undone': 'The account keeps its plan at the end of the period.',
  'billing.invoice_issued': 'The account has a new invoice.',
  'billing.invoice_paid': 'An invoice is paid.',
  'billing.invoice_voided': 'An invoice is void. `unknown_charge` names a charge without an answer.',
  'billing.payment_failed': 'The billing card was declined.',
  'billing.past_due': 'An invoice is overdue. The service tries the card again.',
  'billing.cancelled': 'The card was declined too often, so the account is on the free plan.',
  'billing.unsettled': 'An invoice could not be settled after many tries, and waits for an operator.',

  // Webhooks
  'webhook.created': 'The account has a new webhook.',
  'webhook.updated': 'A webhook was changed, enabled or disabled by its account.',
  'webhook.secret_rotated': 'A webhook has a new secret. The old one signs too for a day.',
  'webhook.deleted': 'A webhook was deleted.',
  'webhook.disabled': 'A webhook was disabled. `reason` is `failing` after three days, or `gone`.',
  'webhook.test': 'The account tested a webhook. Only that webhook gets this event.',
} as const

/** The type of an event that the service writes. Clients may write events of their own, whose types begin with `client.`. */
export type EventType = keyof typeof eventTypes
const types: readonly string[] = Object.keys(eventTypes)
const groups: readonly string[] = [
  ...new Set([...types.flatMap((type) => (type.includes('.') ? [`${type.split('.')[0]}.*`] : [])), 'client.*']),
]

/** The type of an event that a client wrote. */
const clientType = /^client(\.[a-z0-9_-]+)+$/

/** Checks patterns of event types: a type, `payment.*` or `*`. Throws `field_invalid`, which names the field. */
export function checkEventPatterns(patterns: readonly string[]): void {
  for (const [i, pattern] of patterns.entries()) {
    if (pattern === '*' || types.includes(pattern) || groups.includes(pattern) || clientType.test(pattern)) continue
    const field = `events.${i}`
    const hint = suggestName(pattern, [...types, ...groups])
    throw problem('field_invalid', {
      detail: `"${field}" must be a type of event, a group such as "payment.*", or "*".${hint}`,
      fields: { field },
    })
  }
}

/** Whether one of the patterns names this type. */
export const matchesPattern = (patterns: readonly string[], type: string): boolean =>
  patterns.some(
    (pattern) =>
      pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  )
