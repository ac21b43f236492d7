import fc from 'fast-check'
import { expect, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { collections } from '../../src/collections.js'
import { isSecretName, learnMarks } from '../../src/sandbox/journal/marked-names.js'
import { holdsToken, redact, redactHeader } from '../../src/sandbox/journal/redact.js'
import { howMuch } from '../support/how-much.js'

/** What is hidden in texts that no schema knows, by a reader of the whole value: the journal reads only their characters. */

learnMarks(routeList, collections)

const HIDDEN = '[redacted]'
type Value = string | number | boolean | null | Value[] | { [name: string]: Value }

const name = fc.constantFrom('note', 'code', 'codes', 'token', 'nonce', 'x-payment', 'client_secret', 'id', 'é"\\')
/** Texts that no other rule hides. */
const word = fc.constantFrom(
  'S3-a',
  'S3 {b}',
  'S3[c],',
  'S3:"d\\',
  'S3\n',
  'balance_low',
  'payment:12',
  'delegate:S3',
  '',
)
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(word, fc.constantFrom<Value>(0, -17.5, null, true, false, [], {})),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map((fields) => Object.fromEntries(fields)),
    // JSON in a text, as clients of others send it.
    tie('value').map((inner) => JSON.stringify(inner)),
  ),
}))

/** The value as a reader may see it. `name`: of the field in which it is. */
function shown(given: Value, name = ''): Value {
  if (given === null || typeof given === 'boolean') return given
  const isSecret = /^x-payment$/.test(name) || isSecretName(name, JSON.stringify(given))
  if (Array.isArray(given))
    return isSecret && typeof given[0] === 'string' ? HIDDEN : given.map((each) => shown(each, name))
  if (typeof given === 'object')
    return Object.fromEntries(Object.entries(given).map(([field, each]) => [field, shown(each, field)]))
  if (isSecret) return HIDDEN
  return typeof given === 'string' && /"/.test(given) ? nested(given) : given
}

/** A text that holds JSON is shown as that. */
function nested(text: string): string {
  try {
    const inner: Value = JSON.parse(text)
    const open = shown(inner)
    return JSON.stringify(open) === JSON.stringify(inner) ? text : JSON.stringify(open)
  } catch {
    return text
  }
}

test('JSON is shown without its secrets and otherwise as it is, however it is spaced', () => {
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2, '\t\n'), (given, space) => {
      const text = JSON.stringify(given, null, space)
      expect(JSON.parse(redact(text))).toEqual(shown(given))
    }),
    { numRuns: howMuch(400, 20_000) },
  )
})

test('JSON that is cut anywhere shows no part of a secret', () => {
  fc.assert(
    fc.property(value, fc.nat(), (given, cut) => {
      const text = JSON.stringify({ token: 'S3-first', open: [{ id: 1 }], more: given, secret: ['S3-x', 'S3-"y'] })
      const kept = text.slice(0, cut % (text.length + 1))
      // What a reader may see of the whole.
      const open = JSON.stringify(shown(given)).split('S3').length - 1
      expect(redact(kept).split('S3').length - 1, kept).toBeLessThanOrEqual(open)
    }),
    { numRuns: howMuch(200, 20_000) },
  )
})

const hex = '0123456789abcdef'.repeat(2)
/** Texts, and what is shown of each wherever it stands. */
const PIECES: readonly (readonly [text: string, shown: string])[] = [
  ...['ms_', 'mc_', 'tqmt_'].map((start) => [`${start}${hex}`, HIDDEN] as const),
  ...[`co_${hex}`, `whsec_${'aB+/'.repeat(4)}`, 'eyJhbGciOiJF.eyJz.c2ln', 'eyJhbGciOiJF.eyJz.'].map(
    (text) => [text, HIDDEN] as const,
  ),
  ...['eyJhbGciOiJF', 'eyJhbGciOiJF.eyJz', `ms_${hex.slice(1)}`, 'whsec_short', '1790000000123'].map(
    (text) => [text, text] as const,
  ),
  ...['4000000000006', '30569309025904', '4242 4242 4242 4242', '4000 000000006', '4242-4242-4242-4242'].map(
    (text) => [text, HIDDEN] as const,
  ),
  ...['4242\u00a04242\t4242\r4242', '4242\u2003424242424242'].map((text) => [text, HIDDEN] as const),
  ...['4242424242424241', '12-34', 'a@b.example', 'x_1', 'code 12', 'a=b'].map((text) => [text, text] as const),
  ['https://ada:pass@a.example/', `https://${HIDDEN}@a.example/`],
  ['https:\\/\\/ada@a.example', `https:\\/\\/${HIDDEN}@a.example`],
  ['https://a.example/?code=123&x=1', `https://a.example/?code=${HIDDEN}&x=1`],
  ['https://a.example/#token=abc;b', `https://a.example/#token=${HIDDEN};b`],
]

test('a secret is hidden wherever it stands among other words, and nothing else is', () => {
  const pieces = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(pieces, fc.constantFrom('|', ' (', '>', ' : '), (chosen, between) => {
      const [text, expected] = [0, 1].map((side) => chosen.map((piece) => piece[side]).join(between)) as [
        string,
        string,
      ]
      expect(redact(text)).toBe(expected)
    }),
    { numRuns: howMuch(400, 20_000) },
  )
})

test.each(PIECES)('%s alone is shown as %s, and what holds a token is known', (text, expected) => {
  expect(redact(text)).toBe(expected)
  expect(holdsToken(`see ${text}, please`)).toBe(/^(ms_|mc_|tqmt_|co_|whsec_|eyJ)/.test(text) && expected === HIDDEN)
})

test('the last field of a form, and the first, are hidden by their names', () => {
  expect(redact('code=1&a=2&token=3&note=')).toBe(`code=${HIDDEN}&a=2&token=${HIDDEN}&note=`)
  for (const open of ['a=code=1', 'code=null&code=true', '/?code=false']) expect(redact(open)).toBe(open)
  expect(redact('--x\ncontent-type: a\n\nsecret')).toBe('--x\ncontent-type: a\n\nsecret')
  expect(redact('--x\ncontent-disposition: form-data; name="a"\n\nsecret')).toBe(
    `--x\ncontent-disposition: form-data; name="a"\n\n${HIDDEN}`,
  )
})

const payment = {
  payload: { signature: '0x1', authorization: { from: `0x${'Ab'.repeat(20)}`, nonce: `0x${'Cd'.repeat(32)}` } },
}
const marks = ` payer=0x${'ab'.repeat(20)} eip3009=0x${'cd'.repeat(32)}`
const key = (length: number) => 'k'.repeat(length)

test.each<readonly [name: string, text: string, shown: unknown]>([
  ['authorization', 'Bearer abc', `Bearer ${HIDDEN}`],
  ['authorization', 'Basic   abc', `Basic ${HIDDEN}`],
  ['authorization', 'abc', HIDDEN],
  ['authorization', ' Bearer abc', HIDDEN],
  ['authorization', `Payment PAYMENT`, `Payment ${HIDDEN}${marks}`],
  ['authorization', `payment PAYMENT, x`, `payment ${HIDDEN}${marks}`],
  ['authorization', `Bearer PAYMENT`, `Bearer ${HIDDEN}`],
  ['payment-signature', 'PAYMENT', HIDDEN + marks],
  ['x-payment', 'PAYMENT', HIDDEN + marks],
  ['x-payment', 'no payment', HIDDEN],
  ['x-payment-response', 'kept', 'kept'],
  ...['proxy-authorization', 'cookie', 'set-cookie', 'x-session-id', 'x-control-token', 'x-device-token'].map(
    (name) => [name, 'abc', HIDDEN] as const,
  ),
  ...['password', 'signature', 'credential', 'assertion', 'jwt', 'authorization', 'cookie'].flatMap((word) =>
    [word, `${word}s`, `x-my-${word}s`].flatMap((name) =>
      name === 'authorization' ? [] : [[name, 'PAYMENT', HIDDEN] as const],
    ),
  ),
  ['x-api-token', 'abc', HIDDEN],
  ['x-token-kind', 'abc', 'abc'],
  ['cookie-policy', 'strict', 'strict'],
  ['referer', 'https://a.example/?token=abc', `https://a.example/?token=${HIDDEN}`],
  ['idempotency-key', 'once', 'once'],
  ['idempotency-key', 'code=1', `code=${HIDDEN}`],
  ['idempotency-key', key(19), key(19)],
  ['idempotency-key', key(20), expect.stringMatching(/^sha256:[\w-]{32}$/)],
  ['idempotency-key', key(255), expect.stringMatching(/^sha256:[\w-]{32}$/)],
  ['idempotency-key', key(256), key(256)],
])('the header %s: %s is shown as %s', (name, text, expected) => {
  expect(redactHeader(name, text.replace('PAYMENT', btoa(JSON.stringify(payment))))).toEqual(expected)
})
