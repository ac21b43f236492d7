import { problem } from './problem.js'

/** How many characters a key may have. */
export const LONGEST_KEY = 255

/** Checks the format of a key. Throws `idempotency_key_invalid`. */
export function checkKey(key: string): string {
  if (key.length <= LONGEST_KEY && /^[\x20-\x7e]+$/.test(key)) return key
  throw problem('idempotency_key_invalid')
}
