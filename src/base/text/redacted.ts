/** What the journal and traces write in place of a secret. */
export const HIDDEN = '[redacted]'

/** How the digest begins that the journal shows in place of an Idempotency-Key. */
export const HIDDEN_KEY = 'sha256:'

/** Links that give whoever has them a right: where their tokens stand, in any text. Slashes may be escaped or encoded. */

const SLASH = String.raw`(?:\\?/|%(?:25)?2f)`
/** Paths whose next segment is a token. Elsewhere it is a number, or one of few words. */
const IN_PATH = new RegExp(
  String.raw`(?<=${SLASH}(?:checkout|transfers|account-choice|interaction|delegates)${SLASH})(?!(?:\d{1,15}|refunds)(?![\w%-]))(?:[\w-]|%(?:25)?[\da-f]{2}(?<!${SLASH}))+`,
  'gi',
)
/** Parameters of a query that stands, encoded, in another one. */
const IN_ENCODED_QUERY = /(?<=%(?:25)?(?:3f|26)(?:token|code|nonce|secret|session_id)%(?:25)?3d)[\w.~+/-]+/gi

/** The text without tokens of links. */
export function redactLinks(text: string): string {
  const inPaths = /checkout|transfers|account-choice|interaction|delegates/i.test(text)
    ? text.replace(IN_PATH, HIDDEN)
    : text
  return /%3d|%253d/i.test(inPaths) ? inPaths.replace(IN_ENCODED_QUERY, HIDDEN) : inPaths
}
