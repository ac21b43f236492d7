import { APPROVAL_EXPIRES, APPROVAL_FORGOTTEN, expireApproval, forgetApproval } from './consent/approvals/approval.js'
import { answerAsPhone } from './consent/second-factor/answer.js'
import { PHONE_ANSWERS } from './consent/second-factor/phone.js'
import type { TimerJob } from './jobs/schedule/timer.js'
import { endPeriod, retryInvoice } from './market/billing/renewal.js'
import { BILLING_PERIOD_ENDS, BILLING_RETRY } from './market/billing/settle.js'
import { CHECKOUT_ATTEMPT_ENDS, endOverdueAttempt, expireCheckout } from './market/checkout/attempt.js'
import { CHECKOUT_EXPIRES } from './market/checkout/checkout.js'
import { HELD_TOO_LONG, reverseOverdue } from './payments/payments/held-payment.js'
import { expireTransfer, TRANSFER_EXPIRES } from './payments/transfers/invitation.js'

/** The job of each kind of timer. */
export const timerJobs: Readonly<Record<string, TimerJob>> = {
  [PHONE_ANSWERS]: answerAsPhone,
  [HELD_TOO_LONG]: reverseOverdue,
  [TRANSFER_EXPIRES]: expireTransfer,
  [CHECKOUT_EXPIRES]: expireCheckout,
  [CHECKOUT_ATTEMPT_ENDS]: endOverdueAttempt,
  [BILLING_PERIOD_ENDS]: endPeriod,
  [BILLING_RETRY]: retryInvoice,
  [APPROVAL_EXPIRES]: expireApproval,
  [APPROVAL_FORGOTTEN]: forgetApproval,
}
