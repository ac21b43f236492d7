import { collections } from './collections.js'
import { APPROVAL_EXPIRES, expireApproval } from './consent/approvals/approval.js'
import { CLIENT_DELETED } from './consent/oidc/clients/client.js'
import { PHONE_ANSWERS } from './consent/second-factor/phone.js'
import { endFormerGeneration, FORMER_GENERATION } from './identity/sessions/first-proof.js'
import { takeOverLate } from './jobs/flows/takeover.js'
import { SWEEP } from './jobs/retention/sweep-timer.js'
import type { TimerJobs } from './jobs/schedule/run.js'
import { BILLING_PERIOD_ENDS, BILLING_RETRY } from './market/billing/invoice-row.js'
import { CHECKOUT_ATTEMPT_ENDS, CHECKOUT_EXPIRES } from './market/checkout/checkout-row.js'
import { heldPayments } from './payments/payments/held-payment.js'
import { expireTransfer } from './payments/transfers/invitation.js'
import { TRANSFER_EXPIRES } from './payments/transfers/transfer.js'

/** What loads the job of each kind of timer, when one is due. */
export const timerJobs: TimerJobs = {
  [PHONE_ANSWERS]: async () => (await import('./consent/second-factor/answer.js')).answerAsPhone,
  [heldPayments.timer]: async () => takeOverLate(heldPayments),
  [TRANSFER_EXPIRES]: async () => expireTransfer,
  [CHECKOUT_EXPIRES]: async () => (await import('./market/checkout/attempt.js')).expireCheckout,
  [CHECKOUT_ATTEMPT_ENDS]: async () => takeOverLate((await import('./market/checkout/attempt.js')).checkoutAttempts),
  [BILLING_PERIOD_ENDS]: async () => (await import('./market/billing/renewal.js')).endPeriod,
  [BILLING_RETRY]: async () => (await import('./market/billing/renewal.js')).retryInvoice,
  [APPROVAL_EXPIRES]: async () => expireApproval,
  [FORMER_GENERATION]: async () => endFormerGeneration,
  [CLIENT_DELETED]: async () => (await import('./consent/oidc/deleted-client.js')).endDeletedClient,
  [SWEEP]: async () => (await import('./jobs/retention/sweep.js')).sweepOver(collections),
}
