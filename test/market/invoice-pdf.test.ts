import { extractText, getDocumentProxy } from 'unpdf'
import { describe, expect, test } from 'vitest'
import { nodeFonts } from '../../adapters/node.js'
import { Parts } from '../../src/base/parts.js'
import type { Fonts } from '../../src/index.js'
import { invoicePdf } from '../../src/market/billing/invoice-pdf.js'
import type { InvoiceRow } from '../../src/market/billing/invoice-row.js'
import { PAGE, PdfDocument, wrapped } from '../../src/market/billing/pdf/document.js'
import { MISSING, Typeface, typefaceFor } from '../../src/market/billing/pdf/typeface.js'
import { allParts } from '../../src/parts.js'

/** Those of the package, with its fonts. */
const parts = new Parts(allParts)

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

/** Two of the many fonts that a host may install. */
const installed = nodeFonts({ packages: ['@fontsource/noto-sans-arabic', '@fontsource/sawarabi-gothic'] })

interface Host {
  readonly fonts?: Fonts | undefined
  readonly logged?: unknown[]
}

const bytesOf = (changes: Partial<InvoiceRow> = {}, { fonts, logged = [] }: Host = {}) =>
  invoicePdf(
    { ...invoice, ...changes },
    { baseUrl: 'https://pay.example.test', fonts, log: { error: (message) => logged.push(message) }, parts },
  )

const named = (business_name: string) => ({ profile: { ...invoice.profile, business_name } })

/** Reads a PDF as another program does: its lines of text, letters without their shapes, and how many pages it has. */
async function readPdf(bytes: Uint8Array) {
  const document = await getDocumentProxy(bytes.slice(), { verbosity: 0 })
  const { text, totalPages } = await extractText(document, { mergePages: false })
  return { texts: text.flatMap((page) => page.normalize('NFKC').split('\n')), pages: totalPages }
}

const textsOf = async (changes: Partial<InvoiceRow>, host?: Host) => (await readPdf(await bytesOf(changes, host))).texts

const rawOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')

/** The table at its end says where each object begins, and each stream how long it is. */
function expectWhole(bytes: Uint8Array) {
  const raw = rawOf(bytes)
  const start = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(raw)?.[1])
  expect(raw.slice(start, start + 5)).toBe('xref\n')
  const offsets = [...raw.slice(start).matchAll(/(\d{10}) 00000 n /g)].map(([, offset]) => Number(offset))
  expect(offsets.length).toBeGreaterThan(6)
  offsets.forEach((offset, n) => expect(raw.slice(offset).startsWith(`${n + 1} 0 obj\n`)).toBe(true))
  for (const [head, length] of raw.matchAll(/\/Length (\d+) >>\nstream\n/g)) {
    const end = raw.indexOf(head) + head.length + Number(length)
    expect(raw.slice(end, end + 9)).toBe('endstream')
  }
}

/** As `readPdf` gives it. */
const missing = MISSING.normalize('NFKC')

const NOTE = /^The fonts of this document lack some letters of the invoice/

describe('The PDF of an invoice', () => {
  test('shows the content of the invoice, in order, on one page', async () => {
    const bytes = await bytesOf()
    const { texts, pages } = await readPdf(bytes)
    expect(pages).toBe(1)
    expect(rawOf(bytes).startsWith('%PDF-1.4\n')).toBe(true)
    expectWhole(bytes)
    expect(texts).toEqual([
      'Invoice 3-0012',
      'Paid on 2031-05-01',
      ...['From', 'pay.example.test'],
      ...['Billed to', 'Söhne (Verlag) \\ Co', 'Way 1', '10115 Berlin'],
      ...['Tax number DE123456789', 'books@example.test', 'Account 3'],
      ...['Issued 2031-05-01', 'Plan Scale', 'Paid by Visa ending in 4242'],
      'What for Amount',
      ...['Scale plan, rest of the month 99.50 USD', '2031-05-01 to 2031-05-01'],
      ...['Growth plan, not used -14.50 USD', '2031-05-01 to 2031-05-01'],
      'Total 85.00 USD',
    ])
  })

  test('embeds no font if Helvetica has every letter', async () => {
    expect(rawOf(await bytesOf())).not.toContain('/FontFile2')
  })

  test.each([
    ['Polish', 'Zażółć gęślą jaźń, Łódź'],
    ['Czech', 'Škoda Žižkov Čeněk, Dvořák'],
    ['Turkish', 'Ğazete, İstanbul, ışık'],
    ['Vietnamese', 'Nguyễn Thị Hằng'],
    ['Greek', 'Αθήνα, Ευρυδίκη'],
    ['Cyrillic', 'Москва, Щукин, Київ'],
    ['Hebrew', 'שלום עולם'],
  ])('shows %s names with the font of the package', async (_, name) => {
    const bytes = await bytesOf(named(name))
    expectWhole(bytes)
    const { texts } = await readPdf(bytes)
    expect(texts).toContain(name)
    expect(texts.some((text) => NOTE.test(text))).toBe(false)
  })

  test.each([
    ['Chinese', '北京出版社'],
    ['Japanese', '東京ひらがな'],
    ['Arabic', 'شركة محمد'],
    ['Arabic with lam and alef', 'دار السلام'],
  ])('shows %s names with a font that the host has', async (_, name) => {
    const bytes = await bytesOf(named(name), { fonts: installed })
    expectWhole(bytes)
    const { texts } = await readPdf(bytes)
    expect(texts).toContain(name)
    expect(texts.some((text) => NOTE.test(text))).toBe(false)
  })

  test('embeds only the glyphs that it uses, not whole fonts', async () => {
    const plain = await bytesOf()
    const polish = await bytesOf(named('Łódź'))
    expect(polish.length - plain.length).toBeLessThan(6000)
  })

  test('has the same bytes each time', async () => {
    const name = named('Łódź 北京 محمد')
    expect(await bytesOf(name, { fonts: installed })).toEqual(await bytesOf(name, { fonts: installed }))
  })

  test('explains the replacement for a missing letter, and names the page that shows the original', async () => {
    const bytes = await bytesOf(named('東京 Ltd 👍'))
    const { texts } = await readPdf(bytes)
    expect(texts).toContain(`${missing} Ltd ${missing}`)
    const note = texts.slice(texts.findIndex((text) => NOTE.test(text))).join(' ')
    expect(note).toContain('This page shows the original: https://pay.example.test/v4/billing/invoices/7.html')
    expect(texts.join('')).not.toContain('?')
    // What is copied of that line is the name itself.
    expect(rawOf(bytes)).toContain('/ActualText <feff67714eac0020004c007400640020d83ddc4d>')
  })

  test('does not write a script as separate letters if it needs joined ones', async () => {
    expect(await textsOf(named('हिन्दी'), { fonts: installed })).toContain(missing)
  })

  test('is made even if no host font loads, and the log says why', async () => {
    const logged: unknown[] = []
    const broken: Fonts = { find: async () => [new Uint8Array([1, 2, 3])] }
    expect(await textsOf(named('東京'), { fonts: broken, logged })).toContain(missing)
    const away: Fonts = { find: () => Promise.reject(new Error('not found')) }
    expect(await textsOf(named('東京'), { fonts: away, logged })).toContain(missing)
    expect(logged).toEqual(Array(2).fill('a font for an invoice could not be loaded'))
  })

  test('asks the host only for letters that the package cannot show', async () => {
    const asked: string[][] = []
    const fonts: Fonts = {
      async find(characters) {
        asked.push([...characters])
        return []
      },
    }
    await bytesOf(named('Łódź, Москва'), { fonts })
    await bytesOf(named('Łódź 東京東'), { fonts })
    expect(asked).toEqual([['東', '京']])
  })

  test('accepts a hostile name: 10,000 characters, control characters, direction marks, lone surrogates', async () => {
    const every = Array.from({ length: 10_000 }, (_, n) => String.fromCharCode(n * 6)).join('')
    for (const name of [
      '\u202e\u0000\u001b[31m\r\n) Tj ET (',
      every,
      'م'.repeat(10_000),
      '\ud800'.repeat(50),
      'ا‮'.repeat(500),
    ]) {
      const bytes = await bytesOf(named(name), { fonts: installed })
      expectWhole(bytes)
      const { texts } = await readPdf(bytes)
      expect(texts).toContain('Total 85.00 USD')
    }
  })

  test('reads at most forty font files from the host', async () => {
    let read = 0
    const file = new Uint8Array(new ArrayBuffer(4))
    const fonts: Fonts = { find: async () => Array.from({ length: 100 }, () => file) }
    await invoicePdf(
      { ...invoice, ...named('東') },
      { baseUrl: 'http://a.test', fonts, log: { error: () => read++ }, parts },
    )
    expect(read).toBe(40)
  })

  test('continues a long address on the next pages, and loses no line', async () => {
    const lines = Array.from({ length: 120 }, (_, n) => `Line ${n}`)
    const bytes = await bytesOf({ profile: { ...invoice.profile, business_address: lines.join('\n') } })
    const { texts, pages } = await readPdf(bytes)
    expect(pages).toBe(3)
    expect(texts.filter((text) => text.startsWith('Line '))).toEqual(lines)
    const heights = [...rawOf(bytes).matchAll(/ ([\d.]+) Td /g)].map(([, y]) => Number(y))
    expect(heights.length).toBeGreaterThan(120)
    for (const y of heights) {
      expect(y).toBeGreaterThanOrEqual(PAGE.margin)
      expect(y).toBeLessThanOrEqual(PAGE.height - PAGE.margin)
    }
  })
})

describe('Without any font but Helvetica', () => {
  const typeface = new Typeface([])
  const written = (text: string) =>
    typeface
      .set(text, 'regular')
      .runs.map(({ numbers }) => String.fromCharCode(...numbers))
      .join('')

  test.each([
    ['Łódź', 'Lódz'],
    ['Ğazete, İstanbul', 'Gazete, Istanbul'],
    ['Müller', 'Müller'],
    ['Москва, Щукин', 'Moskva, Shchukin'],
    ['Αθήνα', 'Athina'],
    ['STRAẞE', 'STRASSE'],
    ['５ ﬁ №', '5 fi No'],
    ['a\tb', 'a b'],
  ])('letters are replaced by Latin ones: %s', (text, latin) => {
    expect(written(text)).toBe(latin)
  })
})

test('lines of a PDF fit the requested width, whatever the words', async () => {
  for (const text of [
    'a few words of some length '.repeat(20).trim(),
    'x'.repeat(500),
    'ŁЩ'.repeat(300),
    'short',
    '',
  ]) {
    const typeface = await typefaceFor([text], { fonts: undefined, log: { error() {} }, parts })
    const lines = wrapped(text, 200, { size: 10, typeface })
    for (const line of lines) expect((typeface.set(line, 'regular').width * 10) / 1000).toBeLessThanOrEqual(200)
    expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
  }
})

test('the title of a PDF supports any script', () => {
  expect(rawOf(new PdfDocument('東', new Typeface([])).toBytes())).toContain('<feff6771>')
})
