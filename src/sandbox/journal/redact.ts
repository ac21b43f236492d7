import { digest } from '../../base/secrets.js'
import { HIDDEN, HIDDEN_KEY, redactLinks } from '../../base/text/redacted.js'
import { hideCardNumbers } from '../../http/fields/card-data.js'
import { HARD_TO_GUESS } from '../../http/idempotency/caller-key.js'
import { LONGEST_KEY } from '../../http/idempotency/idempotency.js'

/** Names of fields whose values are secrets, or may be. */
const NAMES = [
  ...['access_token', 'refresh_token', 'id_token', 'id_token_hint', 'registration_access_token', 'token'],
  ...['client_secret', 'client_assertion', 'secret', 'secrets', 'password', 'code_verifier', 'session_id', 'session'],
  ...[
    'nonce',
    'code',
    'codes',
    'links',
    'text',
    'subject',
    'key',
    'agent_twin_key',
    'encryption_key',
    'value',
    'control_token',
    'fcmToken',
    'deviceToken',
    'device_token',
    'persona_delegate',
    'instances',
  ],
].join('|')

/** A text, up to the end of the body if that is cut. */
const TEXT = String.raw`"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)`
const NUMBER = String.raw`-?\d[\d.]*`

/** The value may be a text, a list of texts, or a number. What begins a value always ends it: no part is read again. */
const FIELD = new RegExp(
  String.raw`"(${NAMES})"(\s*:\s*)(${TEXT}|\[\s*${TEXT}(?:[\s,]*${TEXT})*[^\]]*(?:\]|$)|${NUMBER})`,
  'g',
)
/** The same inside a text that is JSON. */
const NESTED = new RegExp(
  String.raw`\\"(${NAMES})\\"(\s*:\s*)(\\"(?:[^"\\]|\\[^"])*\\?(?:"|$)|\[[^\]]*(?:\]|$)|${NUMBER})`,
  'g',
)
/** The hash of a delegate, which stands before that of its persona: whoever knows one may spend. A body may be cut behind it. */
const DELEGATE = /(\\?"hash\\?"\s*:\s*\\?")41[0-9a-f]{64}(?=\\?"\s*(?:$|,\s*(?:$|\\?"persona\\?")))/g
/** Delegates by the hash of their persona. */
const DELEGATES = /(\\?")(41[0-9a-f]{64}\\?"\s*:\s*)\[\s*\\?"41[0-9a-f]{64}\\?"[^\]]*(?:\]|$)/g
/** In a query, fragment or form. */
const PARAMETER = new RegExp(`((?:^|[?&#;])(?:${NAMES})=)[^&"\\s#;\\\\]+`, 'g')
/** What a form with files holds. No operation takes one, so whoever sends it gets an error, and looks into the journal. */
const IN_PART = /^(?!--|content-)[^\r\n]+/gim
/** Name and password in the URL of another service, whose slashes may be escaped. Such a URL is refused. */
const USER_INFO = /(:(?:\\?\/){2})[^\s/?#@"\\<>]+@/g
/** A session's id, tokens of checkouts, secrets of clients and webhooks, and refresh tokens, wherever they are. */
const MARKED = /(?:ms|mc|tqmt)_[0-9a-f]{32}|co_[\w-]{32}|whsec_[\w+/=-]{16,}/g
/**
 * A signed token has three parts, even behind a slash that is encoded. Other words that begin like one match too, so that
 * none is read again.
 */
const SIGNED = /(?:\b|(?<=%[\da-fA-F]{2}))eyJ[\w-]{8,}(?:\.[\w-]+(?:\.[\w-]*)?)?/g

/**
 * Values that are no secrets: codes of errors, which are words, unlike codes that people enter; and subjects of events,
 * such as `payment:12`, unlike those of mails.
 */
const PUBLIC: Readonly<Record<string, RegExp>> = {
  code: /^\\?"[a-z]+(_[a-z]+)*\\?"$/,
  subject: /^\\?"(?!delegate:)[a-z_-]+:[^\s"]*"$/,
}

const isPublic = (name: string, value: string): boolean => PUBLIC[name]?.test(value) ?? false

/** The text without secrets, codes, nonces, tokens of links and card numbers: JSON, a form, or a URL. */
export function redact(given: string): string {
  const text = redactLinks(given)
  const marks = marksOf(text)
  const fields = marks & QUOTE ? replaceSecrets(text, FIELD, '"') : text
  const nested = marks & BACKSLASH ? replaceSecrets(fields, NESTED, '\\"') : fields
  const marked = marks & MARK ? hideMarked(nested) : nested
  const bare = marks & QUOTE ? hideDelegates(hideParts(marked)) : marked
  const shown = marks & EQUALS ? redactParameters(bare) : bare
  const others = marks & AT ? shown.replace(USER_INFO, `$1${HIDDEN}@`) : shown
  return marks & DIGITS ? hideCardNumbers(others, HIDDEN) : others
}

const hideMarked = (text: string): string =>
  text.replace(MARKED, HIDDEN).replace(SIGNED, (word) => (word.split('.').length < 3 ? word : HIDDEN))

const hideParts = (text: string): string => (text.startsWith('--') ? text.replace(IN_PART, HIDDEN) : text)

const hideDelegates = (text: string): string =>
  text.replace(DELEGATE, `$1${HIDDEN}`).replace(DELEGATES, `$1$2$1${HIDDEN}$1`)

const QUOTE = 1
const BACKSLASH = 2
const EQUALS = 4
const MARK = 8
const DIGITS = 16
const AT = 32

/** What a text holds that a secret needs. One look at each character takes less time than any expression. */
function marksOf(text: string): number {
  let marks = 0
  let before = 0
  let digits = 0
  let first = 0
  let isOneGroup = true
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char >= 48 && char <= 57) {
      if (digits++ === 0) {
        first = char
        isOneGroup = true
      }
    } else if (char === 45 || isSpace(char)) isOneGroup = false
    else {
      if (digits > 12 && isCardLike(digits, first, isOneGroup)) marks |= DIGITS
      digits = 0
      if (char === 34) marks |= QUOTE
      else if (char === 92) marks |= BACKSLASH
      else if (char === 61) marks |= EQUALS
      else if (char === 64) marks |= AT
      else if (endsMark(char, before)) marks |= MARK
    }
    before = char
  }
  return digits > 12 && isCardLike(digits, first, isOneGroup) ? marks | DIGITS : marks
}

/** Whether a start of `MARKED` may end with these two: `ms_`, `mc_`, `tqmt_`, `co_`, `whsec_`, `eyJ`. */
const endsMark = (char: number, before: number): boolean =>
  (char === 95 && (before === 115 || before === 111 || before === 99 || before === 116)) ||
  (char === 74 && before === 121)

/** Whether digits may hold a card number. Those of 13 digits begin with 4, and times in milliseconds with 1 or 2. */
const isCardLike = (digits: number, first: number, isOneGroup: boolean): boolean =>
  digits > 13 || !isOneGroup || first === 52

/** Whether `\s` matches it, or another character beyond ASCII. */
const isSpace = (char: number): boolean => char === 32 || (char >= 9 && char <= 13) || char >= 128

/**
 * Replaces the values of fields. Most texts have few, and for these this takes a fraction of the time of `replace` with a
 * function. Joining copies: a slice would keep the whole text in memory.
 */
function replaceSecrets(text: string, field: RegExp, quote: string): string {
  const parts: string[] = []
  let from = 0
  field.lastIndex = 0
  for (let found = field.exec(text); found; found = field.exec(text)) {
    const [all, name = '', colon = '', value = ''] = found
    if (isPublic(name, value)) continue
    parts.push(text.slice(from, found.index), quote, name, quote, colon, quote, HIDDEN, quote)
    from = found.index + all.length
  }
  if (from === 0) return text
  parts.push(text.slice(from))
  return parts.join('')
}

const redactParameters = (text: string): string => (text.includes('=') ? text.replace(PARAMETER, `$1${HIDDEN}`) : text)

/** Headers that identify a caller. */
const SECRET_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-session-id',
  'x-control-token',
  'x-device-token',
])

/** Headers of others that hold a secret by their name. */
const SECRET_NAME =
  /(?:token|secret|password|signature|api-?key|access-key|credentials?|authorization|assertion|cookie|jwt)s?$/

/**
 * The value of a header without secrets. The scheme of `Authorization` stays. A key that is hard to guess leads a guest to
 * their session, so its digest stands for it: equal keys are seen to be equal.
 */
export function redactHeader(name: string, value: string): string {
  if (name === 'idempotency-key') return isSecretKey(value) ? HIDDEN_KEY + digest(value).slice(0, 32) : redact(value)
  if (!SECRET_HEADERS.has(name) && !SECRET_NAME.test(name)) return redact(value)
  if (name !== 'authorization') return HIDDEN
  const [, scheme] = /^(\w+) /.exec(value) ?? []
  return scheme ? `${scheme} ${HIDDEN}` : HIDDEN
}

/** A longer one is refused. */
const isSecretKey = ({ length }: string): boolean => length >= HARD_TO_GUESS && length <= LONGEST_KEY
