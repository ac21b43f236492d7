import { toWinAnsi } from './characters.js'
import { type Weight, widthOf } from './widths.js'

/** A4, in points. */
export const PAGE = { width: 595, height: 842, margin: 56 } as const

export interface TextStyle {
  readonly size: number
  readonly weight?: Weight
  /** From 0, black, to 1, white. */
  readonly grey?: number
}

/** Text in points from the left, or, where `right` is set, up to there. */
export interface PlacedText extends TextStyle {
  readonly x: number
  readonly right?: boolean
}

/**
 * A PDF document of text and lines in Helvetica, written from the top of A4 pages to their bottom. Every reader has the font; what it
 * cannot show is written as `toWinAnsi` says.
 */
export class PdfDocument {
  readonly #pages: string[] = []
  /** How far down the page the last line of text stands: its baseline, in points from the bottom. */
  #y: number = PAGE.height - PAGE.margin

  constructor(readonly title: string) {
    this.#pages.push('')
  }

  /** Goes down by that many points: to the next page where this one is full. */
  down(points: number): void {
    this.#y -= points
    if (this.#y >= PAGE.margin) return
    this.#pages.push('')
    this.#y = PAGE.height - PAGE.margin - points
  }

  /** Writes one line where the document stands. */
  text(text: string, { x, right = false, size, weight = 'regular', grey = 0 }: PlacedText): void {
    const codes = toWinAnsi(text)
    const left = right ? x - (widthOf(codes, weight) * size) / 1000 : x
    const font = weight === 'bold' ? 'F2' : 'F1'
    this.#draw(`${grey} g BT /${font} ${size} Tf ${points(left)} ${points(this.#y)} Td (${literal(codes)}) Tj ET`)
  }

  /** Draws a line across the page, between its margins. */
  rule(): void {
    const y = points(this.#y)
    this.#draw(`0.75 G 0.5 w ${PAGE.margin} ${y} m ${PAGE.width - PAGE.margin} ${y} l S`)
  }

  #draw(operators: string): void {
    this.#pages[this.#pages.length - 1] += `${operators}\n`
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const firstPage = 6
    const kids = this.#pages.map((_, n) => `${firstPage + n * 2} 0 R`).join(' ')
    const font = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`
    return assembled([
      '<< /Type /Catalog /Pages 2 0 R /Lang (en) /ViewerPreferences << /DisplayDocTitle true >> >>',
      `<< /Type /Pages /Kids [${kids}] /Count ${this.#pages.length} >>`,
      font('Helvetica'),
      font('Helvetica-Bold'),
      `<< /Title ${utf16(this.title)} /Producer (farthing) >>`,
      ...this.#pages.flatMap((drawn, n) => [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents ${firstPage + n * 2 + 1} 0 R >>`,
        `<< /Length ${drawn.length} >>\nstream\n${drawn}endstream`,
      ]),
    ])
  }
}

/** Numbers in a content stream, to a hundredth. */
const points = (value: number): string => String(Math.round(value * 100) / 100)

/** A string between parentheses: one character for each byte. */
const literal = (codes: readonly number[]): string =>
  codes.map((code) => String.fromCharCode(code).replace(/[\\()]/, '\\$&')).join('')

/** A text string beyond the page's fonts: any character. */
function utf16(text: string): string {
  const units = Array.from({ length: text.length }, (_, n) => text.charCodeAt(n).toString(16).padStart(4, '0'))
  return `<feff${units.join('')}>`
}

/** The objects, numbered from 1, with the table of where each begins: the first is the catalog, the fifth says what the file is. */
function assembled(objects: readonly string[]): Uint8Array<ArrayBuffer> {
  // The second line says that the file is not text.
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

/** Text as lines that are no wider than so many points: broken between words, and within those that are too long. */
export function wrapped(text: string, width: number, { size, weight = 'regular' }: TextStyle): string[] {
  const fits = (line: string) => (widthOf(toWinAnsi(line), weight) * size) / 1000 <= width
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (fits(longer)) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = ''
    for (const character of word) {
      if (line !== '' && !fits(line + character)) {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  return [...lines, line]
}
