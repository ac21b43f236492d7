import { LONGEST_KEY } from '../../base/idempotency-key.js'
import { hiddenKey } from '../../base/secrets.js'
import { HIDDEN, redactLinks } from '../../base/text/redacted.js'
import { hideCardNumbers } from '../../http/fields/card-data.js'
import { isMarked, partsOf, type SchemaPlace } from '../../http/fields/marks.js'
import { HARD_TO_GUESS } from '../../http/idempotency/idempotency.js'
import { IDENTIFYING, isSecretName } from './marked-names.js'
import { shownMarks } from './sent-payment.js'

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
 * The text without secrets, codes, nonces, tokens of links and card numbers: JSON, a form, or an address. `place`: the
 * schemas of its fields. Where they know nothing, names decide.
 */
export function redact(given: string, place: SchemaPlace = []): string {
  const text = redactLinks(given)
  const marks = marksOf(text)
  const isJson = /^\s*[{["]/.test(text)
  const fields = marks & QUOTE ? hideFields(text, isJson ? place : []) : text
  const marked = marks & MARK ? hideMarked(fields) : fields
  const bare = marks & QUOTE ? hideParts(marked) : marked
  const shown = marks & EQUALS ? hideParameters(bare, isJson ? [] : place) : bare
  const others = marks & AT ? shown.replace(USER_INFO, `$1${HIDDEN}@`) : shown
  return marks & DIGITS ? hideCardNumbers(others, HIDDEN) : others
}

/** What begins a value always ends it, so no part of a text is read again. */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|[{}[\],]|[^\s{}[\],:"]+/g

/** Hides values of JSON, or of texts that hold some. They may be cut. */
function hideFields(text: string, whole: SchemaPlace): string {
  const parts: string[] = []
  const around: (readonly [place: SchemaPlace, name: string])[] = []
  let [place, name, from, begun, depth] = [whole, '', 0, 0, 0]
  const hide = (start: number, end: number) => {
    parts.push(text.slice(from, start), `"${HIDDEN}"`)
    from = end
  }
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const end = index + token.length
    const opens = token === '{' || token === '['
    const closes = token === '}' || token === ']'
    if (depth > 0) {
      depth += opens ? 1 : closes ? -1 : 0
      if (depth === 0) hide(begun, end)
      // What follows in a list is of the list's field, not of one in an item.
    } else if (closes) name = around.pop()?.[1] ?? ''
    else if (token === ',') place = partsOf(around.at(-1)?.[0] ?? [], '')
    else if (token.startsWith('"') && isKey(text, end)) {
      name = plainText(token) ?? ''
      place = partsOf(around.at(-1)?.[0] ?? [], name)
    } else if (isSecret(place, name, opens ? text.slice(index, index + 20) : token)) {
      if (opens) [begun, depth] = [index, 1]
      else hide(index, end)
    } else if (opens) {
      around.push([place, name])
      place = partsOf(place, '')
    } else if (token.includes('\\"')) {
      const nested = plainText(token)
      const shown = nested === undefined ? undefined : hideFields(nested, [])
      if (shown !== nested || shown === undefined) {
        parts.push(text.slice(from, index), JSON.stringify(shown ?? HIDDEN))
        from = end
      }
    }
  }
  if (depth > 0) hide(begun, text.length)
  return parts.length === 0 ? text : parts.join('') + text.slice(from)
}

const COLON = /\s*:/y

function isKey(text: string, end: number): boolean {
  COLON.lastIndex = end
  return COLON.test(text)
}

/** No text of JSON has these, but others that look like one do. */
const CONTROL = /\p{Cc}/gu

/** What a text of JSON means. Undefined if it is cut or wrong. */
function plainText(token: string): string | undefined {
  if (!token.includes('\\')) return token.slice(1, token.length > 1 && token.endsWith('"') ? -1 : undefined)
  try {
    return JSON.parse(token.replace(CONTROL, (char) => JSON.stringify(char).slice(1, -1)))
  } catch {
    return undefined
  }
}

/** Null and flags are no secrets. Where only names decide, an object and a list of objects are looked through. */
function isSecret(place: SchemaPlace, name: string, value: string): boolean {
  if (/^(?:null|true|false)$/.test(value)) return false
  if (place.length > 0) return isMarked(place, 'isSecret')
  return !/^(?:\{|\[(?!\s*"))/.test(value) && (SIGNED_PAYMENT.test(name) || isSecretName(name, value))
}

/** What holds a whole payment as a header does, with its signature. Facilitators of the first version took it in the body. */
const SIGNED_PAYMENT = /^(?:x[-_]?payment|payment[-_]?(?:header|signature))$/i

/** In a query, fragment or form. */
const PARAMETER = /((?:^|[?&#;])([^=&?#;\s"\\]+)=)([^&"\s#;\\]+)/g

const hideParameters = (text: string, place: SchemaPlace): string =>
  text.replace(PARAMETER, (all, before: string, name: string, value: string) =>
    isSecret(partsOf(place, name), name, value) ? before + HIDDEN : all,
  )

const hideMarked = (text: string): string =>
  text.replace(MARKED, HIDDEN).replace(SIGNED, (word) => (word.split('.').length < 3 ? word : HIDDEN))

/** Whether a text holds a session, a token or a secret that is known by its form. */
export const holdsToken = (text: string): boolean => hideMarked(text) !== text

const hideParts = (text: string): string => (text.startsWith('--') ? text.replace(IN_PART, HIDDEN) : text)
const QUOTE = 1
const EQUALS = 2
const MARK = 4
const DIGITS = 8
const AT = 16

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

/** Headers of others that hold a secret by their name. */
const SECRET_HEADER = /(?:password|signature|credential|assertion|jwt|authorization|cookie)s?$|^x-payment$/

/**
 * The value of a header without secrets. The scheme of `Authorization` stays, and so does what tells payments apart. A key that is hard to guess leads a guest to
 * their session, so its digest stands for it: equal keys are seen to be equal.
 */
export function redactHeader(name: string, value: string): string {
  if (name === 'idempotency-key') return isSecretKey(value) ? hiddenKey(value) : redact(value)
  const word = name.replace(/^.*-/, '')
  if (!IDENTIFYING.has(name) && !SECRET_HEADER.test(name) && !isSecretName(word, value)) return redact(value)
  if (name === 'payment-signature' || name === 'x-payment') return HIDDEN + shownMarks(value)
  if (name !== 'authorization') return HIDDEN
  const [, scheme, credential = ''] = /^(\w+) +([^\s,]*)/.exec(value) ?? []
  if (!scheme) return HIDDEN
  return `${scheme} ${HIDDEN}${scheme.toLowerCase() === 'payment' ? shownMarks(credential) : ''}`
}

/** A longer one is refused. */
const isSecretKey = ({ length }: string): boolean => length >= HARD_TO_GUESS && length <= LONGEST_KEY
