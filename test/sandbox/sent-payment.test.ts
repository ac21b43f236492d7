import { expect, test } from 'vitest'
import { hiddenKey } from '../../src/base/secrets.js'
import { marksOfPayment, readMarks, shownMarks } from '../../src/sandbox/journal/sent-payment.js'

const PAYER = `0x${'aB'.repeat(20)}`
const NONCE = `0x${'Cd'.repeat(32)}`
const signed = { from: PAYER, nonce: NONCE }
const paid = { payer: PAYER.toLowerCase(), eip3009: NONCE.toLowerCase() }
const identified = { 'payment-identifier': { info: { id: 'pay_1' } } }

/** Whatever a client sends, its marks tell its payments apart, and hold nothing with which anybody could pay. */
test.each([
  ['an exact payment', { payload: { signature: '0x1', authorization: signed } }, paid],
  ['a payload without an authorization', { payload: signed }, paid],
  [
    'the body of a settlement',
    { paymentPayload: { payload: { authorization: signed } }, payload: { from: '0x1' } },
    paid,
  ],
  ['a payment with an id', { extensions: identified }, { 'payment-identifier': hiddenKey('pay_1') }],
  ['an empty id', { extensions: { 'payment-identifier': { info: { id: '' } } } }, {}],
  ['an id that is no text', { extensions: { 'payment-identifier': { info: { id: 7 } } } }, {}],
  ['a credential of MPP', { challenge: { id: 'ch_1' } }, { mpp: hiddenKey('ch_1') }],
  ['a name that is no address', { payload: { from: `x${PAYER}`, nonce: `${NONCE}0` } }, {}],
  ['a longer address', { payload: { from: `${PAYER}0`, nonce: `x${NONCE}` } }, {}],
  ['numbers', { payload: { from: 1, nonce: 2 } }, {}],
  ['lists of fitting texts', { payload: { from: [PAYER], nonce: [NONCE] } }, {}],
  ['nothing', undefined, {}],
  ['a text', 'paid', {}],
  ['null', null, {}],
])('the marks of %s', (_, sent, expected) => {
  expect(JSON.parse(JSON.stringify(marksOfPayment(sent)))).toEqual(expected)
  const base64 = btoa(JSON.stringify(sent ?? null))
  for (const header of [base64, base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')]) {
    const shown = shownMarks(header)
    expect(shown).toBe(
      Object.entries(expected)
        .map(([name, mark]) => ` ${name}=${mark}`)
        .join(''),
    )
    expect(readMarks(`[redacted]${shown}`)).toEqual(expected)
  }
})

test('all marks of a payment are read from what is shown of it', () => {
  const sent = { payload: signed, extensions: identified, challenge: { id: 'ch_1' } }
  expect(readMarks(shownMarks(btoa(JSON.stringify(sent))))).toEqual(marksOfPayment(sent))
})

test('a header with characters of base64url is read', () => {
  // The letters make `+` and `/`, which base64url writes otherwise.
  const base64 = btoa(unescape(encodeURIComponent(JSON.stringify({ note: '>>>???\u00ff~~~', payload: signed }))))
  expect(base64).toMatch(/\+.*\/|\/.*\+/)
  expect(readMarks(shownMarks(base64.replaceAll('+', '-').replaceAll('/', '_')))).toEqual(paid)
})

test.each(['', 'no base64!', btoa('no JSON'), 'eyJ'])('the header "%s" has no marks', (header) => {
  expect(shownMarks(header)).toBe('')
})
