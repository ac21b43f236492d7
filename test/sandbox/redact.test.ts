import { expect, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { collections } from '../../src/collections.js'
import { learnMarks } from '../../src/sandbox/journal/marked-names.js'
import { redact } from '../../src/sandbox/journal/redact.js'

learnMarks(routeList, collections)

const CARDS = [
  ['4000000000006', '13 digits'],
  ['30569309025904', '14 digits'],
  ['378282246310005', '15 digits'],
  ['4242424242424242', '16 digits'],
  ['4242 4242 4242 4242', 'spaces'],
  ['4242-4242-4242-4242', 'hyphens'],
  ['4242  4242\t4242\u00a04242', 'wider spaces'],
  ['6205500000000000004', '19 digits'],
] as const

test.each(CARDS)('hides the card number %s (%s) wherever it stands', (number) => {
  for (const [before, after] of [
    ['', ''],
    ['{"note":"', '"}'],
    ['{"note":"pay ', ' please","at":1790000000123}'],
    ['{"text_of":"{\\"note\\":\\"', '\\"}"}'],
    ['1790000000123,', ',1790000000123'],
  ])
    expect(redact(`${before}${number}${after}`)).toBe(`${before}[redacted]${after}`)
})

test.each([
  '{"timestamp":1790000000123,"created_at":1790000000}',
  '{"id":"79a1d83b-68fb-40bc-92f7-315410bdfc41"}',
  '{"dq":"41e50df1390db7596d4e9d36527ace95272535f96e037534e83c0cf60197992e8a"}',
  '{"code":"balance_insufficient","subject":"payment:12"}',
  '{"note":"4242424242424241"}',
  'name=ada&address=co_op',
  '',
  '{}',
])('leaves %s as it is', (text) => {
  expect(redact(text)).toBe(text)
})

const hex = '0123456789abcdef'.repeat(2)
const SHOWN = [
  ['{"nonce":"a\\"b","id":1}', '{"nonce":"[redacted]","id":1}'],
  // That of a signed transfer, which a chain shows.
  [`{"nonce":"0x${'Ab'.repeat(32)}","signature":"0x1"}`, `{"nonce":"0x${'Ab'.repeat(32)}","signature":"[redacted]"}`],
  [`{"nonce":"${'a1'.repeat(32)}"}`, '{"nonce":"[redacted]"}'],
  ['{"code":"123456","token":"t"}', '{"code":"[redacted]","token":"[redacted]"}'],
  ['{"codes":["1","2"],"n":1}', '{"codes":"[redacted]","n":1}'],
  ['{"body":"{\\"secret\\":\\"s\\",\\"n\\":1}"}', '{"body":"{\\"secret\\":\\"[redacted]\\",\\"n\\":1}"}'],
  ['code=123456&n=1', 'code=[redacted]&n=1'],
  [`{"id":"ms_${hex}"}`, '{"id":"[redacted]"}'],
  [`see whsec_${hex}`, 'see [redacted]'],
  [`see /checkout/co_${hex} now`, 'see /checkout/[redacted] now'],
  [`see /account-choice/${'x'.repeat(43)}`, 'see /account-choice/[redacted]'],
  ['see eyJhbGciOiJF.eyJz.c2ln', 'see [redacted]'],
  ['see https://user:pass@example.test/', 'see https://[redacted]@example.test/'],
  ['return_to=%2Fpay%3Ftoken%3Dabcdef', 'return_to=%2Fpay%3Ftoken%3D[redacted]'],
] as const
test.each(SHOWN)('makes of %s: %s', (text, shown) => {
  expect(redact(text)).toBe(shown)
})

test('hides every part of a form with files, whatever it is called', () => {
  const part = (name: string, value: string) =>
    `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  expect(redact(`${part('a', 'one')}${part('b', 'two')}--x--`)).toBe(
    `${part('a', '[redacted]')}${part('b', '[redacted]')}--x--`,
  )
})

test.each(SHOWN)('makes of %s three times: %s each time', (text, shown) => {
  for (const between of /^\w+=/.test(text) ? ['&'] : ['\n', ' '])
    expect(redact(Array(3).fill(text).join(between))).toBe(Array(3).fill(shown).join(between))
})
