import type { Refused } from './service.client.js'

/** What people are told of refusals, by their codes: what happened, and what to do next. */
export type Sentences = Readonly<Record<string, (refused: Refused) => string>>

/** In a flow's own words, else in those that all share, else in the service's. */
export const sentenceFor = (refused: Refused, own: Sentences): string =>
  (own[refused.code] ?? shared[refused.code])?.(refused) ?? refused.message

const shared: Sentences = {
  unreachable: () => 'The payment service cannot be reached. Check your connection and try again.',
  internal_error: () => 'The payment service failed. Try again in a moment.',
  field_invalid: () => 'This is not an email address. Correct it and try again.',
  code_wrong: () => 'This code is wrong. Look at the mail and type it again.',
  code_expired: () => 'This code has expired or was used. Send a new code.',
  too_many_tries: () => 'Too many wrong codes were typed. Send a new code.',
  too_many_codes: (refused) =>
    `Too many codes were sent to this email. Try again ${wait(refused)}, or use another email.`,
  rejected: () => 'You rejected this on your device. Send a new code to try again.',
  too_many_mails: (refused) => `You were asked too often. Try again ${wait(refused)}.`,
  sign_in_required: () => 'Your sign-in has ended. Sign in again.',
}

/** Without an answer nobody here knows whether it was done. */
export const isKnown = ({ status }: Refused): boolean => status >= 400 && status < 500

function wait({ retryAfterSeconds }: Refused): string {
  if (!retryAfterSeconds) return 'later'
  const minutes = Math.ceil(retryAfterSeconds / 60)
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`
}
