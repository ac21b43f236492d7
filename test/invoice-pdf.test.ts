import { describe, expect, test } from 'vitest'
import type { InvoiceRow } from '../src/billing/invoice.js'
import { isShowable, toWinAnsi } from '../src/billing/pdf/characters.js'
import { PAGE, PdfDocument, wrapped } from '../src/billing/pdf/document.js'
import { invoicePdf } from '../src/billing/pdf/invoice.js'
import { widthOf } from '../src/billing/pdf/widths.js'

/** Windows-1252 from 128 to 159, with spaces where it has nothing: decoders differ there. */
const HIGH = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'

const decode = (codes: readonly number[]) =>
  codes.map((code) => (code < 128 || code > 159 ? String.fromCharCode(code) : HIGH.charAt(code - 128))).join('')
const written = (text: string) => decode(toWinAnsi(text))

describe('The characters of a PDF', () => {
  test('of Windows-1252 come through as they are', () => {
    const known = decode(Array.from({ length: 224 }, (_, n) => n + 32).filter((code) => code !== 127))
    expect(written(known)).toBe(known)
  })

  test.each([
    ['Łódź', 'Lódz'],
    ['Ğazete, İstanbul', 'Gazete, Istanbul'],
    ['Škoda Žižkov Čeněk', 'Škoda Žižkov Cenek'],
    ['Müller', 'Müller'],
    ['Москва, Щукин', 'Moskva, Shchukin'],
    ['Αθήνα', 'Athina'],
    ['STRAẞE', 'STRASSE'],
    ['５ ﬁ №', '5 fi No'],
    ['a\tb', 'a b'],
  ])('that they lack are transliterated: %s', (text, latin) => {
    expect(written(text)).toBe(latin)
    expect(isShowable(text)).toBe(true)
  })

  test('that no Latin letters stand for are each a question mark, and told of', () => {
    expect(written('東京 한국 A')).toBe('?? ?? A')
    expect(written('👍')).toBe('?')
    expect(isShowable('東')).toBe(false)
  })
})

test('lines of a PDF are as wide as asked, whatever the words', () => {
  const style = { size: 10 }
  for (const text of ['a few words of some length '.repeat(20).trim(), 'x'.repeat(500), 'short', '']) {
    const lines = wrapped(text, 200, style)
    for (const line of lines) expect((widthOf(toWinAnsi(line), 'regular') * 10) / 1000).toBeLessThanOrEqual(200)
    expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
  }
})

/** Reads a PDF as the format says: by the table at its end. */
function readPdf(bytes: Uint8Array) {
  const text = decode([...bytes])
  const raw = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  const start = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(raw)?.[1])
  expect(raw.slice(start, start + 5)).toBe('xref\n')
  const offsets = [...raw.slice(start).matchAll(/(\d{10}) 00000 n /g)].map(([, offset]) => Number(offset))
  offsets.forEach((offset, n) => expect(raw.slice(offset).startsWith(`${n + 1} 0 obj\n`)).toBe(true))
  for (const [, length, stream] of raw.matchAll(/\/Length (\d+) >>\nstream\n([\s\S]*?)endstream/g))
    expect(stream).toHaveLength(Number(length))
  const unescaped = (literal: string) => literal.replace(/\\([\\()])/g, '$1')
  return {
    texts: [...text.matchAll(/ Td \(((?:\\.|[^\\)])*)\) Tj/g)].map(([, literal]) => unescaped(literal as string)),
    pages: Number(/\/Count (\d+)/.exec(raw)?.[1]),
    raw,
  }
}

const AT = Date.UTC(2031, 4, 1, 12)

const invoice: InvoiceRow = {
  id: 7,
  account_id: 3,
  number: 12,
  status: 'paid',
  reason: 'upgrade',
  plan: 'scale',
  lines: [
    { description: 'Scale plan, rest of the month', amount: '9950', period_start: AT, period_end: AT },
    { description: 'Growth plan, not used', amount: '-1450', period_start: AT, period_end: AT },
  ],
  total: '8500',
  profile: {
    business_name: 'Söhne (Verlag) \\ Co',
    business_address: 'Way 1\r\n10115 Berlin',
    billing_email: 'books@example.test',
    tax_number: 'DE123456789',
  },
  charge: null,
  charge_id: 'ch_1',
  card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2050 },
  failures: 0,
  failed_at: null,
  next_try_at: null,
  created_at: AT,
  issued_at: AT,
  paid_at: AT,
}

const pdfOf = (changes: Partial<InvoiceRow> = {}) => readPdf(invoicePdf({ ...invoice, ...changes }, 'pay.example.test'))

test('the PDF of an invoice says what the invoice does, in order, on one page', () => {
  const { texts, pages, raw } = pdfOf()
  expect(pages).toBe(1)
  expect(raw.startsWith('%PDF-1.4\n')).toBe(true)
  expect(texts).toEqual([
    'Invoice 3-0012',
    'Paid on 2031-05-01',
    ...['From', 'pay.example.test'],
    ...['Billed to', 'Söhne (Verlag) \\ Co', 'Way 1', '10115 Berlin'],
    ...['Tax number DE123456789', 'books@example.test', 'Account 3'],
    ...['Issued', '2031-05-01', 'Plan', 'Scale', 'Paid by', 'Visa ending in 4242'],
    ...['What for', 'Amount'],
    ...['Scale plan, rest of the month', '99.50 USD', '2031-05-01 to 2031-05-01'],
    ...['Growth plan, not used', '-14.50 USD', '2031-05-01 to 2031-05-01'],
    ...['Total', '85.00 USD'],
  ])
})

test('an address that fills more than a page goes on on the next, and nothing is lost', () => {
  const lines = Array.from({ length: 120 }, (_, n) => `Line ${n}`)
  const { texts, pages, raw } = pdfOf({ profile: { ...invoice.profile, business_address: lines.join('\n') } })
  expect(pages).toBe(3)
  expect(texts.filter((text) => text.startsWith('Line '))).toEqual(lines)
  for (const [, y] of raw.matchAll(/ ([\d.]+) Td /g)) {
    expect(Number(y)).toBeGreaterThanOrEqual(PAGE.margin)
    expect(Number(y)).toBeLessThanOrEqual(PAGE.height - PAGE.margin)
  }
})

test('a PDF says where its font lacked a letter, and has any script in its title', () => {
  const note = /^Where "\?" stands for a letter/
  expect(pdfOf().texts.some((text) => note.test(text))).toBe(false)
  const { texts } = pdfOf({ profile: { ...invoice.profile, business_name: '東京' } })
  expect(texts).toContain('??')
  expect(texts.some((text) => note.test(text))).toBe(true)
  expect(readPdf(new PdfDocument('東').toBytes()).raw).toContain('<feff6771>')
})
