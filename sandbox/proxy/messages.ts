import { hiddenKey } from '../../src/base/secrets.js'
import { HIDDEN } from '../../src/base/text/redacted.js'
import { hideCardNumbers } from '../../src/http/fields/card-data.js'
import { bodyFields, bodyText, isForm, type Message } from './fields.js'

/** Fields, parameters and headers that hold a secret, by their names in the APIs of others. */
const SECRET_NAME =
  /secret|passw|token|api[-_]?key|private|credential|signature|authori[sz]ation|cookie|session|assertion|card\W{0,2}number|account[-_]?number|(?:^|[^a-z])(?:auth|key|sig|jwt|otp|pin|cvc|cvv2?|cvn|pan|iban)(?:$|[^a-z])|^number$/i

const isSecretName = (name: string): boolean => SECRET_NAME.test(spaced(name))

/** What is shown in place of a value with this name. Keys tell tries apart, so equal ones are seen to be equal. */
const shownInPlaceOf = (name: string, value: string): string => {
  if (/^idempotency[-_]?key$/i.test(name)) return hiddenKey(value)
  return isSecretName(name) ? HIDDEN : shownText(value)
}

/** `cardNumber` as `card-Number`. */
const spaced = (name: string): string => name.replace(/([a-z])(?=[A-Z])/g, '$1-')

/** Keys of many services (`sk_live_…`), secrets that Stripe joins to ids, and signed tokens, wherever they are. */
const SECRET_TEXT =
  /\b(?:[a-z]{2,6}_(?:live|test)_|whsec_|ghp_|xox[a-z]-)\w{6,}|\b\w+_secret_\w+|(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]*){1,2}|\b0x[\da-f]{130,}\b/gi

const shownText = (text: string): string => hideCardNumbers(text.replace(SECRET_TEXT, HIDDEN), HIDDEN)

function shownFields(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return shownInPlaceOf(name, value)
  if (typeof value === 'number') return shownInPlaceOf(name, String(value)) === String(value) ? value : HIDDEN
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((part) => shownFields(part, name))
  const within = isSecretName(name) ? () => name : (part: string) => part
  return Object.fromEntries(
    Object.entries(value).map(([each, part]) => [shownText(each), shownFields(part, within(each))]),
  )
}

/** Only what can be read as fields is shown, because in other texts nothing tells what is secret. */
function shownBody(message: Message): string {
  const text = bodyText(message)
  if (text === '' || message.body?.length === 0) return ''
  const fields = bodyFields(message)
  if (fields === undefined) return '[a body that is neither JSON nor a form]'
  const shown = isForm(message) ? shownForm(firstOf(text ?? '')) : JSON.stringify(shownFields(fields))
  return shown.length > MOST_SHOWN ? `${shown.slice(0, MOST_SHOWN)}…` : shown
}

/** The first parameters of a form. */
const firstOf = (form: string): string =>
  form.length > MOST_SHOWN ? `${form.slice(0, MOST_SHOWN).replace(/&[^&]*$/, '')}&…` : form

/** As much of a body as a report has, in characters. A rehearsal holds those of all its runs. */
const MOST_SHOWN = 10_000

const shownForm = (text: string): string =>
  [...new URLSearchParams(text)].map(([name, value]) => `${shownText(name)}=${shownInPlaceOf(name, value)}`).join('&')

/** The path of a request, with its query. */
export function writtenPath(path: string): string {
  const [before = '', query] = path.split(/\?(.*)/s)
  return shownText(before) + (query === undefined ? '' : `?${shownForm(query)}`)
}

/** A message as text, for whoever asked for it. What signs it stays hidden, and so do cards. */
export function writtenMessage(firstLine: string, message: Message): string {
  const headers = Object.entries(message.headers).map(
    ([name, value]) => `${name}: ${shownInPlaceOf(name, String(value))}`,
  )
  return [firstLine, ...headers, '', shownBody(message)].join('\n').trimEnd()
}
