import type { Subset } from './subset.js'
import { type GlyphRun, plainText, type Typeface } from './typeface.js'
import type { Weight } from './widths.js'

/** A4, in points. */
export const PAGE = { width: 595, height: 842, margin: 56 } as const

export interface TextStyle {
  readonly size: number
  readonly weight?: Weight
  /** From 0 (black) to 1 (white). */
  readonly grey?: number
}

/** `x` is in points from the left. `right`: the text ends there. */
export interface PlacedText extends TextStyle {
  readonly x: number
  readonly right?: boolean
}

/**
 * Writes a PDF document of text and lines on A4 pages, from top to bottom. It uses Helvetica, which every reader has.
 * Lines with other letters use embedded subsets of fonts.
 */
export class PdfDocument {
  readonly #pages: string[] = []
  /** Baseline of the last line of text, in points from the bottom. */
  #y: number = PAGE.height - PAGE.margin

  constructor(
    readonly title: string,
    readonly typeface: Typeface,
  ) {
    this.#pages.push('')
  }

  /** Moves down by a number of points, to the next page if this one is full. */
  down(points: number): void {
    this.#y -= points
    if (this.#y >= PAGE.margin) return
    this.#pages.push('')
    this.#y = PAGE.height - PAGE.margin - points
  }

  text(text: string, { x, right = false, size, weight = 'regular', grey = 0 }: PlacedText): void {
    const { runs, width, actual } = this.typeface.set(text, weight)
    const left = right ? x - (width * size) / 1000 : x
    const shows = runs.map((run) => `/${this.#fontOf(run, weight)} ${size} Tf ${glyphString(run)} Tj`).join(' ')
    const drawn = `${grey} g BT ${points(left)} ${points(this.#y)} Td ${shows} ET`
    // Readers copy and search this text instead of the glyphs.
    this.#draw(actual === undefined ? drawn : `/Span << /ActualText ${utf16(actual)} >> BDC ${drawn} EMC`)
  }

  #fontOf({ font }: GlyphRun, weight: Weight): string {
    if (font === 'standard') return weight === 'bold' ? 'F2' : 'F1'
    return this.#nameOf(font)
  }

  #nameOf(subset: Subset): string {
    return `F${this.typeface.subsets.indexOf(subset) + FIRST_EMBEDDED}`
  }

  rule(): void {
    const y = points(this.#y)
    this.#draw(`0.75 G 0.5 w ${PAGE.margin} ${y} m ${PAGE.width - PAGE.margin} ${y} l S`)
  }

  #draw(operators: string): void {
    this.#pages[this.#pages.length - 1] += `${operators}\n`
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const used = this.typeface.subsets.filter(({ isUsed }) => isUsed)
    const firstPage = 6 + used.length * OBJECTS_PER_FONT
    const kids = this.#pages.map((_, n) => `${firstPage + n * 2} 0 R`).join(' ')
    const font = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`
    const embedded = used.map((subset, n) => ` /${this.#nameOf(subset)} ${6 + n * OBJECTS_PER_FONT} 0 R`).join('')
    return assembled([
      '<< /Type /Catalog /Pages 2 0 R /Lang (en) /ViewerPreferences << /DisplayDocTitle true >> >>',
      `<< /Type /Pages /Kids [${kids}] /Count ${this.#pages.length} >>`,
      font('Helvetica'),
      font('Helvetica-Bold'),
      `<< /Title ${utf16(this.title)} /Producer (farthing) >>`,
      ...used.flatMap((subset, n) => fontObjects(subset, 6 + n * OBJECTS_PER_FONT, n)),
      ...this.#pages.flatMap((drawn, n) => [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Resources << /Font << /F1 3 0 R /F2 4 0 R${embedded} >> >> /Contents ${firstPage + n * 2 + 1} 0 R >>`,
        stream(drawn),
      ]),
    ])
  }
}

/** `F1` and `F2` are Helvetica and Helvetica Bold. */
const FIRST_EMBEDDED = 3
const OBJECTS_PER_FONT = 5

const stream = (content: string): string => `<< /Length ${content.length} >>\nstream\n${content}endstream`

/** Objects of an embedded font (ISO 32000-1, section 9.7): its glyphs by number and the text that each one means. */
function fontObjects(subset: Subset, first: number, n: number): string[] {
  const { font, uses } = subset
  const { head, hhea } = font.tables
  // A prefix of six letters marks a subset. Each subset needs its own.
  const name = `/AAAAA${String.fromCharCode(65 + n)}+Part`
  const box = [36, 38, 40, 42].map((at) => font.thousandths(head.getInt16(at))).join(' ')
  const [ascent, descent] = [4, 6].map((at) => font.thousandths(hhea.getInt16(at)))
  return [
    `<< /Type /Font /Subtype /Type0 /BaseFont ${name} /Encoding /Identity-H /DescendantFonts [${first + 1} 0 R] /ToUnicode ${first + 4} 0 R >>`,
    `<< /Type /Font /Subtype /CIDFontType2 /BaseFont ${name} /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor ${first + 2} 0 R /CIDToGIDMap /Identity /W [1 [${uses.map(({ width }) => width).join(' ')}]] >>`,
    `<< /Type /FontDescriptor /FontName ${name} /Flags 4 /FontBBox [${box}] /ItalicAngle 0 /Ascent ${ascent} /Descent ${descent} /CapHeight ${ascent} /StemV 80 /FontFile2 ${first + 3} 0 R >>`,
    stream(`${latin1(subset.toBytes())}\n`),
    stream(toUnicode(uses.map(({ text }) => text))),
  ]
}

/** The most lines in one list of a character map. */
const MAX_LIST_LINES = 100

function toUnicode(texts: readonly string[]): string {
  const lines = texts.map((text, n) => `<${hex(n + 1)}> <${hexUnits(text)}>`)
  const lists = Array.from({ length: Math.ceil(lines.length / MAX_LIST_LINES) }, (_, n) =>
    lines.slice(n * MAX_LIST_LINES, (n + 1) * MAX_LIST_LINES),
  )
  return `/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def /CMapName /Adobe-Identity-UCS def /CMapType 2 def
1 begincodespacerange <0000> <ffff> endcodespacerange
${lists.map((list) => `${list.length} beginbfchar\n${list.join('\n')}\nendbfchar\n`).join('')}endcmap CMapName currentdict /CMap defineresource pop end end
`
}

const hex = (number: number): string => number.toString(16).padStart(4, '0')

const latin1 = (bytes: Uint8Array): string => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')

const glyphString = (run: GlyphRun): string =>
  run.font === 'standard' ? `(${literal(run.numbers)})` : `<${run.numbers.map(hex).join('')}>`

/** Formats a number for a content stream, to a hundredth. */
const points = (value: number): string => String(Math.round(value * 100) / 100)

/** A string in parentheses, one character for each byte. */
const literal = (codes: readonly number[]): string =>
  codes.map((code) => String.fromCharCode(code).replace(/[\\()]/, '\\$&')).join('')

/** A text string that may contain any character. */
const utf16 = (text: string): string => `<feff${hexUnits(text)}>`

const hexUnits = (text: string): string =>
  Array.from({ length: text.length }, (_, n) => hex(text.charCodeAt(n))).join('')

/**
 * Writes objects, numbered from 1, with their cross-reference table. The first is the catalog, the fifth describes the
 * file.
 */
function assembled(objects: readonly string[]): Uint8Array<ArrayBuffer> {
  // The second line marks the file as binary.
  let file = '%PDF-1.4\n%\xe2\xe3\xcf\xd3\n'
  const offsets = objects.map((object, n) => {
    const offset = file.length
    file += `${n + 1} 0 obj\n${object}\nendobj\n`
    return `${String(offset).padStart(10, '0')} 00000 n \n`
  })
  const size = objects.length + 1
  file += `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size ${size} /Root 1 0 R /Info 5 0 R >>\nstartxref\n${file.length}\n%%EOF\n`
  return Uint8Array.from(file, (character) => character.charCodeAt(0))
}

/** Breaks a text into lines of at most `width` points, between words if possible. */
export function wrapped(
  text: string,
  width: number,
  { typeface, size, weight = 'regular' }: TextStyle & { readonly typeface: Typeface },
): string[] {
  const most = (width * 1000) / size
  const widthOf = (part: string) => [...part].reduce((sum, character) => sum + typeface.widthOf(character, weight), 0)
  const lines: string[] = []
  let line = ''
  let taken = 0
  const add = (part: string, wide: number) => {
    line += part
    taken += wide
  }
  const end = () => {
    lines.push(line)
    line = ''
    taken = 0
  }
  for (const [n, word] of plainText(text).split(' ').entries()) {
    const part = n === 0 || line === '' ? word : ` ${word}`
    const wide = widthOf(part)
    if (taken + wide <= most) {
      add(part, wide)
      continue
    }
    if (line !== '') end()
    for (const character of word) {
      const own = widthOf(character)
      if (line !== '' && taken + own > most) end()
      add(character, own)
    }
  }
  return [...lines, line]
}
