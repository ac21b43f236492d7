import type { Refused } from './service.client.js'

/** Sentences for users by code: what happened, and what to do next. */
export type Sentences = Readonly<Record<string, (refused: Refused) => string>>

/** Returns the flow's own sentence, a shared one, or that of the service. */
export const sentenceFor = (refused: Refused, own: Sentences): string =>
  (own[refused.code] ?? shared[refused.code])?.(refused) ?? refused.message

const shared: Sentences = {
  unreachable: () => 'Cannot reach the payment service. Check your connection and try again.',
  internal_error: () => 'The payment service failed. Try again in a moment.',
  field_invalid: () => 'This is not an email address. Correct it and try again.',
  code_wrong: () => 'This code is wrong. Check the mail and enter it again.',
  code_expired: () => 'This code has expired or was already used. Send a new code.',
  too_many_tries: () => 'You entered too many wrong codes. Send a new code.',
  too_many_codes: (refused) =>
    `Too many codes were sent to this email. Try again ${wait(refused)}, or use another email.`,
  rejected: () => 'You rejected this on your device. Send a new code to try again.',
  too_many_mails: (refused) => `Too many requests were sent to you. Try again ${wait(refused)}.`,
  sign_in_required: () => 'Your sign-in has ended. Sign in again.',
}

/** Whether the outcome is known. Without an answer, it is not. */
export const isKnown = ({ status }: Refused): boolean => status >= 400 && status < 500

function wait({ retryAfterSeconds }: Refused): string {
  if (!retryAfterSeconds) return 'later'
  const minutes = Math.ceil(retryAfterSeconds / 60)
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`
}
