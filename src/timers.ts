import { APPROVAL_EXPIRES, APPROVAL_FORGOTTEN, expireApproval, forgetApproval } from './approvals/approval.js'
import { endPeriod, tryInvoiceAgain } from './billing/renewal.js'
import { BILLING_PERIOD_ENDS, BILLING_TRY_AGAIN } from './billing/settle.js'
import { CHECKOUT_TRY_ENDS, endOverdueTry, expireCheckout } from './checkout/attempt.js'
import { CHECKOUT_EXPIRES } from './checkout/checkout.js'
import { HELD_TOO_LONG, reverseOverdue } from './payments/held-payment.js'
import type { TimerJob } from './schedule/timer.js'
import { answerAsPhone } from './second-factor/answer.js'
import { PHONE_ANSWERS } from './second-factor/phone.js'
import { expireTransfer, TRANSFER_EXPIRES } from './transfers/invitation.js'

/** What is done when a timer falls due, by its kind. */
export const jobs: Readonly<Record<string, TimerJob>> = {
  [PHONE_ANSWERS]: answerAsPhone,
  [HELD_TOO_LONG]: reverseOverdue,
  [TRANSFER_EXPIRES]: expireTransfer,
  [CHECKOUT_EXPIRES]: expireCheckout,
  [CHECKOUT_TRY_ENDS]: endOverdueTry,
  [BILLING_PERIOD_ENDS]: endPeriod,
  [BILLING_TRY_AGAIN]: tryInvoiceAgain,
  [APPROVAL_EXPIRES]: expireApproval,
  [APPROVAL_FORGOTTEN]: forgetApproval,
}
