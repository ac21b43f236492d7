import { expect, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { collections } from '../../src/collections.js'
import { KeptMessage } from '../../src/sandbox/journal/kept-entry.js'
import { learnMarks } from '../../src/sandbox/journal/marked-names.js'

learnMarks(routeList, collections)

const CUT = 16_384
test.each<[string, ConstructorParameters<typeof KeptMessage>[1], string | null]>([
  ['nothing', undefined, null],
  ['null', null, null],
  ['an empty text', '', null],
  ['no bytes', new Uint8Array(), null],
  ['bytes', new TextEncoder().encode('{"é":1}'), '{"é":1}'],
  ['a stream', new ReadableStream(), null],
  ['a text', 'text', 'text'],
  ['the longest text', 'x'.repeat(CUT), 'x'.repeat(CUT)],
  ['the longest text in bytes', new Uint8Array(CUT).fill(120), 'x'.repeat(CUT)],
])('a message with %s', (_, body, expected) => {
  const message = new KeptMessage({ a: 'bc' }, body)
  expect(message.length).toBe(3 + (expected?.length ?? 0))
  expect(message.show()).toEqual({ headers: { a: 'bc' }, body: expected })
  expect(message.show()).toBe(message.show())
})

test.each([
  [`${'x'.repeat(CUT - 1)},y`, `${'x'.repeat(CUT - 1)},`],
  [`${'x'.repeat(CUT - 2)},yz`, `${'x'.repeat(CUT - 2)},`],
  ['x'.repeat(CUT + 1), ''],
  ...[...',{[&;"\''].map((end) => [`ab${end}${'x'.repeat(CUT)}`, end === "'" ? '' : `ab${end}`]),
])('what is cut ends with the last whole part', (text = '', expected) => {
  for (const body of [text, new TextEncoder().encode(text)]) {
    const message = new KeptMessage({}, body)
    expect(message.length).toBe(CUT + 1)
    expect(message.show()).toEqual({ headers: {}, body: expected, cut: true })
  }
})

test('headers are kept from either form, and counted, and values that are no texts are left out', () => {
  const message = new KeptMessage({ a: 'bc', none: undefined } as never, null)
  expect([message.length, message.show().headers]).toEqual([7, { a: 'bc' }])
  const reader = new KeptMessage(
    { keys: () => ['a', 'lost'], get: (name: string) => (name === 'a' ? 'bc' : null), has: () => true },
    null,
  )
  expect([reader.length, reader.show().headers]).toEqual([7, { a: 'bc' }])
})
