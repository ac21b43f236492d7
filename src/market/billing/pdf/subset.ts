import type { Font } from './font.js'

/** The glyphs of a font that a document uses, numbered from 1 in order of first use. */
export class Subset {
  readonly #uses: { readonly glyph: number; readonly text: string }[] = []
  readonly #numbers = new Map<string, number>()

  constructor(readonly font: Font) {}

  numberOf(glyph: number, text: string): number {
    const key = `${glyph} ${text}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#uses.push({ glyph, text })
    this.#numbers.set(key, number)
    return number
  }

  get isUsed(): boolean {
    return this.#uses.length > 0
  }

  /** In order of their numbers: the width of each glyph in thousandths, and its text. */
  get uses(): readonly { readonly width: number; readonly text: string }[] {
    return this.#uses.map(({ glyph, text }) => ({ width: this.font.widthOf(glyph), text }))
  }

  /** Returns a TrueType font with only these glyphs and only the tables that PDF needs (ISO 32000-1, section 9.9). */
  toBytes(): Uint8Array<ArrayBuffer> {
    const { font } = this
    // Components of composite glyphs come last, because no text refers to them.
    const glyphs = [0, ...this.#uses.map(({ glyph }) => glyph)]
    const outlines: Uint8Array[] = []
    for (let n = 0; n < glyphs.length; n++)
      outlines.push(withoutHints(font.outlineOf(glyphs[n] ?? 0), (part) => glyphs.push(part) - 1))
    const loca = new DataView(new ArrayBuffer((glyphs.length + 1) * 4))
    const hmtx = new DataView(new ArrayBuffer(glyphs.length * 4))
    let length = 0
    outlines.forEach((outline, n) => {
      hmtx.setUint16(n * 4, font.advanceOf(glyphs[n] ?? 0))
      hmtx.setInt16(n * 4 + 2, font.leftBearingOf(glyphs[n] ?? 0))
      length += padded(outline.length)
      loca.setUint32(n * 4 + 4, length)
    })
    const glyf = new Uint8Array(length)
    outlines.forEach((outline, n) => glyf.set(outline, loca.getUint32(n * 4)))
    const { head, hhea, maxp } = font.tables
    return fontFile({
      glyf,
      head: changed(head, { 8: 0, 50: 1 }, { 8: 4 }),
      hhea: changed(hhea, { 34: glyphs.length }),
      hmtx: bytesOf(hmtx),
      loca: bytesOf(loca),
      // These limits belong to hinting instructions, and there are none.
      maxp: changed(maxp, { 4: glyphs.length, 14: 1, 16: 0, 18: 0, 20: 0, 22: 0, 24: 0, 26: 0 }),
    })
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: DataView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

const padded = (length: number): number => Math.ceil(length / 4) * 4

/** Copies a table with new 16-bit numbers at these offsets, or 32-bit ones if `widths` is 4. */
function changed(
  table: DataView,
  numbers: Readonly<Record<number, number>>,
  widths: Readonly<Record<number, number>> = {},
): Uint8Array {
  const copy = bytesOf(table).slice()
  const view = new DataView(copy.buffer)
  for (const [at, number] of Object.entries(numbers))
    if (widths[Number(at)] === 4) view.setUint32(Number(at), number)
    else view.setUint16(Number(at), number)
  return copy
}

/** Flags of the components of a composite glyph. */
const [WORDS, SCALE, MORE, TWO_SCALES, MATRIX, INSTRUCTIONS] = [0x01, 0x08, 0x20, 0x40, 0x80, 0x100]

/**
 * Removes hinting instructions, because they need tables of the whole font. `renumber` adds a component and returns its
 * number.
 */
function withoutHints(outline: DataView, renumber: (glyph: number) => number): Uint8Array {
  const bytes = bytesOf(outline).slice()
  if (bytes.length === 0) return bytes
  const view = new DataView(bytes.buffer)
  const contours = view.getInt16(0)
  if (contours >= 0) {
    const at = 10 + contours * 2
    const instructions = view.getUint16(at)
    view.setUint16(at, 0)
    bytes.copyWithin(at + 2, at + 2 + instructions)
    return bytes.subarray(0, bytes.length - instructions)
  }
  let at = 10
  for (let flags = MORE; flags & MORE; ) {
    flags = view.getUint16(at)
    view.setUint16(at, flags & ~INSTRUCTIONS)
    view.setUint16(at + 2, renumber(view.getUint16(at + 2)))
    at += 4 + (flags & WORDS ? 4 : 2) + (flags & SCALE ? 2 : flags & TWO_SCALES ? 4 : flags & MATRIX ? 8 : 0)
  }
  return bytes.subarray(0, at)
}

/** Writes a font file from tables, sorted by name. */
function fontFile(tables: Readonly<Record<string, Uint8Array>>): Uint8Array<ArrayBuffer> {
  const entries = Object.entries(tables)
  const starts: number[] = []
  let length = 12 + entries.length * 16
  for (const [, table] of entries) {
    starts.push(length)
    length += padded(table.length)
  }
  const file = new Uint8Array(length)
  const view = new DataView(file.buffer)
  const power = Math.floor(Math.log2(entries.length))
  const header = [1, 0, entries.length, 16 * 2 ** power, power, entries.length * 16 - 16 * 2 ** power]
  header.forEach((number, n) => view.setUint16(n * 2, number))
  entries.forEach(([name, table], n) => {
    const [at, start] = [12 + n * 16, starts[n] ?? 0]
    file.set(table, start)
    for (let each = 0; each < 4; each++) file[at + each] = name.charCodeAt(each)
    view.setUint32(at + 4, checksum(view, start, padded(table.length)))
    view.setUint32(at + 8, start)
    view.setUint32(at + 12, table.length)
  })
  return file
}

function checksum(view: DataView, start: number, length: number): number {
  let sum = 0
  for (let at = start; at < start + length; at += 4) sum = (sum + view.getUint32(at)) >>> 0
  return sum
}
