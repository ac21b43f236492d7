import type { Refused } from './service.client.js'

/** What was asked for when it was refused. */
export interface Asked {
  readonly price: string
  readonly paying: boolean
}

/** What a payer is told of a refusal: what happened, and what to do next. */
export function sentenceFor(refused: Refused, asked: Asked): string {
  const sentence = sentences[refused.code]?.(refused, asked) ?? refused.message
  if (!asked.paying) return sentence
  // Without an answer nobody here knows whether the payment was made; its key does not let it be made twice.
  const known = refused.status >= 400 && refused.status < 500
  return `${sentence} ${known ? 'Nothing was charged.' : 'Trying again cannot pay twice.'}`
}

const sentences: Record<string, (refused: Refused, asked: Asked) => string> = {
  unreachable: () => 'The payment service cannot be reached. Check your connection and try again.',
  internal_error: () => 'The payment service failed. Try again in a moment.',
  field_invalid: () => 'This is not an email address. Correct it and try again.',
  code_wrong: () => 'This code is wrong. Look at the mail and type it again.',
  code_expired: () => 'This code has expired or was used. Send a new code.',
  too_many_tries: () => 'Too many wrong codes were typed. Send a new code.',
  too_many_codes: (refused) =>
    `Too many codes were sent to this email. Try again ${wait(refused)}, or use another email.`,
  sign_in_required: () => 'Your sign-in has ended. Sign in again.',
  insufficient_funds: (_, { price }) => `Your balance does not cover ${price}. Add funds, then pay.`,
  not_found: () => 'This is no longer for sale.',
}

function wait({ retryAfterSeconds }: Refused): string {
  if (!retryAfterSeconds) return 'later'
  const minutes = Math.ceil(retryAfterSeconds / 60)
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`
}
