import type { Font } from './font.js'
import { type GlyphRun, plainText, type Typeface, type Weight } from './typeface.js'

/** A4, in points. */
export const PAGE = { width: 595, height: 842, margin: 56 } as const

export interface TextStyle {
  readonly size: number
  readonly weight?: Weight
  /** From 0 (black) to 1 (white). */
  readonly grey?: number
}

/** `x` is in points from the left. `right`: the text ends there. */
interface PlacedText extends TextStyle {
  readonly x: number
  readonly right?: boolean
}

/** A PDF document of text and lines on A4 pages, from top to bottom, in Helvetica and embedded subsets of fonts. */
export class PdfDocument {
  readonly #pages = ['']
  /** Baseline of the last line of text, in points from the bottom. */
  #y: number = PAGE.height - PAGE.margin

  constructor(
    readonly title: string,
    readonly typeface: Typeface,
  ) {}

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
    const shows = runs.map((run) => `/${this.#nameOf(run.font, weight)} ${size} Tf ${glyphString(run)} Tj`).join(' ')
    const drawn = `${grey} g BT ${points(left)} ${points(this.#y)} Td ${shows} ET`
    // Readers copy and search this text instead of the glyphs.
    this.#draw(actual === undefined ? drawn : `/Span << /ActualText ${utf16(actual)} >> BDC ${drawn} EMC`)
  }

  /** `F1` and `F2` are Helvetica and Helvetica Bold. */
  #nameOf(font: GlyphRun['font'], weight: Weight): string {
    if (font === 'standard') return weight === 'bold' ? 'F2' : 'F1'
    return `F${this.typeface.fonts.indexOf(font) + 3}`
  }

  rule(): void {
    const y = points(this.#y)
    this.#draw(`0.75 G 0.5 w ${PAGE.margin} ${y} m ${PAGE.width - PAGE.margin} ${y} l S`)
  }

  #draw(operators: string): void {
    this.#pages[this.#pages.length - 1] += `${operators}\n`
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const used = this.typeface.fonts.filter(({ uses }) => uses.length > 0)
    const firstPage = FIRST_FONT + used.length * OBJECTS_PER_FONT
    const kids = this.#pages.map((_, n) => `${firstPage + n * 2} 0 R`).join(' ')
    const standard = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`
    const objectOf = (n: number) => FIRST_FONT + n * OBJECTS_PER_FONT
    const embedded = used.map((font, n) => ` /${this.#nameOf(font, 'regular')} ${objectOf(n)} 0 R`).join('')
    return assembled([
      '<< /Type /Catalog /Pages 2 0 R /Lang (en) /ViewerPreferences << /DisplayDocTitle true >> >>',
      `<< /Type /Pages /Kids [${kids}] /Count ${this.#pages.length} >>`,
      standard('Helvetica'),
      standard('Helvetica-Bold'),
      `<< /Title ${utf16(this.title)} /Producer (farthing) >>`,
      ...used.flatMap((font, n) => fontObjects(font, objectOf(n), n)),
      ...this.#pages.flatMap((drawn, n) => [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Resources << /Font << /F1 3 0 R /F2 4 0 R${embedded} >> >> /Contents ${firstPage + n * 2 + 1} 0 R >>`,
        stream(drawn),
      ]),
    ])
  }
}

const FIRST_FONT = 6
const OBJECTS_PER_FONT = 5
const stream = (content: string): string => `<< /Length ${content.length} >>\nstream\n${content}endstream`

/** Objects of an embedded font (ISO 32000-1, section 9.7): its glyphs by number and the text that each one means. */
function fontObjects(font: Font, first: number, n: number): string[] {
  const { uses } = font
  const { box, ascent, descent } = font.extent
  // A prefix of six letters marks a subset. Each subset needs its own.
  const name = `/AAAAA${String.fromCharCode(65 + n)}+Part`
  const file = Array.from(font.subset(), (byte) => String.fromCharCode(byte)).join('')
  return [
    `<< /Type /Font /Subtype /Type0 /BaseFont ${name} /Encoding /Identity-H /DescendantFonts [${first + 1} 0 R] /ToUnicode ${first + 4} 0 R >>`,
    `<< /Type /Font /Subtype /CIDFontType2 /BaseFont ${name} /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor ${first + 2} 0 R /CIDToGIDMap /Identity /W [1 [${uses.map(({ width }) => width).join(' ')}]] >>`,
    `<< /Type /FontDescriptor /FontName ${name} /Flags 4 /FontBBox [${box.join(' ')}] /ItalicAngle 0 /Ascent ${ascent} /Descent ${descent} /CapHeight ${ascent} /StemV 80 /FontFile2 ${first + 3} 0 R >>`,
    stream(`${file}\n`),
    stream(toUnicode(uses.map(({ text }) => text))),
  ]
}

const MAX_LIST_LINES = 100

function toUnicode(texts: readonly string[]): string {
  let lists = ''
  for (let at = 0; at < texts.length; at += MAX_LIST_LINES) {
    const lines = texts.slice(at, at + MAX_LIST_LINES).map((text, n) => `<${hex(at + n + 1)}> <${hexUnits(text)}>`)
    lists += `${lines.length} beginbfchar\n${lines.join('\n')}\nendbfchar\n`
  }
  return `/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def /CMapName /Adobe-Identity-UCS def /CMapType 2 def
1 begincodespacerange <0000> <ffff> endcodespacerange
${lists}endcmap CMapName currentdict /CMap defineresource pop end end
`
}

const hex = (number: number): string => number.toString(16).padStart(4, '0')

const hexUnits = (text: string): string =>
  Array.from({ length: text.length }, (_, n) => hex(text.charCodeAt(n))).join('')

const utf16 = (text: string): string => `<feff${hexUnits(text)}>`

const glyphString = ({ font, numbers }: GlyphRun): string =>
  font === 'standard'
    ? `(${numbers.map((code) => String.fromCharCode(code).replace(/[\\()]/, '\\$&')).join('')})`
    : `<${numbers.map(hex).join('')}>`

const points = (value: number): string => String(Math.round(value * 100) / 100)

/** Writes objects, numbered from 1, with their cross-reference table. The first is the catalog, the fifth describes the file. */
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
  let [line, taken] = ['', 0]
  const end = () => {
    lines.push(line)
    ;[line, taken] = ['', 0]
  }
  for (const [n, word] of plainText(text).split(' ').entries()) {
    const part = n === 0 || line === '' ? word : ` ${word}`
    const fits = taken + widthOf(part) <= most
    if (!fits && line !== '') end()
    for (const piece of fits ? [part] : word) {
      const wide = widthOf(piece)
      if (line !== '' && taken + wide > most) end()
      line += piece
      taken += wide
    }
  }
  return [...lines, line]
}
