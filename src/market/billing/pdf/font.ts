const TABLES = ['head', 'hhea', 'maxp', 'hmtx', 'loca', 'glyf', 'cmap'] as const
type Tables = Readonly<Record<(typeof TABLES)[number], DataView>>

/** A font with TrueType outlines (OpenType 1.9), without layout features. It knows which glyphs its document uses. */
export class Font {
  readonly #glyphs: ReadonlyMap<number, number>
  /** In order of first use. */
  readonly #uses: { readonly glyph: number; readonly text: string }[] = []
  readonly #numbers = new Map<string, number>()

  private constructor(private readonly tables: Tables) {
    this.#glyphs = glyphsByCharacter(tables.cmap)
  }

  /** Reads a `.ttf` file or a `.woff` file. Throws for any other file. */
  static async read(file: Uint8Array<ArrayBuffer>): Promise<Font> {
    const found = await tablesOf(new DataView(file.buffer, file.byteOffset, file.byteLength))
    const missing = TABLES.find((name) => !found[name])
    if (missing)
      throw new TypeError(`The font has no table "${missing}". Use a .ttf or .woff file with TrueType outlines.`)
    return new Font(found as Tables) // It has all of them.
  }

  /** Returns the glyph of a character, which is never 0, or undefined if the font lacks it. */
  glyphOf(character: string): number | undefined {
    return this.#glyphs.get(character.codePointAt(0) ?? 0)
  }

  /** In thousandths of the font's size. */
  widthOf(glyph: number): number {
    return this.#thousandths(this.#metricsOf(glyph).advance)
  }

  /** The number in this document of a glyph that means a text, from 1. */
  numberOf(glyph: number, text: string): number {
    const key = `${glyph} ${text}`
    const number = this.#numbers.get(key) ?? this.#uses.push({ glyph, text })
    this.#numbers.set(key, number)
    return number
  }

  /** In order of their numbers: the width of each used glyph in thousandths, and its text. */
  get uses(): readonly { readonly width: number; readonly text: string }[] {
    return this.#uses.map(({ glyph, text }) => ({ width: this.widthOf(glyph), text }))
  }

  /** In thousandths of the font's size. */
  get extent() {
    const { head, hhea } = this.tables
    const box = [36, 38, 40, 42].map((at) => this.#thousandths(head.getInt16(at)))
    return { box, ascent: this.#thousandths(hhea.getInt16(4)), descent: this.#thousandths(hhea.getInt16(6)) }
  }

  /** Returns a TrueType font with only the used glyphs and only the tables that PDF needs (ISO 32000-1, section 9.9). */
  subset(): Uint8Array<ArrayBuffer> {
    // Components of composite glyphs come last, because no text refers to them.
    const glyphs = [0, ...this.#uses.map(({ glyph }) => glyph)]
    const outlines: Uint8Array[] = []
    for (let n = 0; n < glyphs.length; n++)
      outlines.push(withoutHints(this.#outlineOf(glyphs[n] ?? 0), (part) => glyphs.push(part) - 1))
    const loca = new DataView(new ArrayBuffer((glyphs.length + 1) * 4))
    const hmtx = new DataView(new ArrayBuffer(glyphs.length * 4))
    let length = 0
    outlines.forEach((outline, n) => {
      const { advance, leftBearing } = this.#metricsOf(glyphs[n] ?? 0)
      hmtx.setUint16(n * 4, advance)
      hmtx.setInt16(n * 4 + 2, leftBearing)
      length += padded(outline.length)
      loca.setUint32(n * 4 + 4, length)
    })
    const glyf = new Uint8Array(length)
    outlines.forEach((outline, n) => glyf.set(outline, loca.getUint32(n * 4)))
    const { head, hhea, maxp } = this.tables
    return fontFile({
      glyf,
      // No checksum of the whole, and long offsets.
      head: changed(head, { 8: 0, 10: 0, 50: 1 }),
      hhea: changed(hhea, { 34: glyphs.length }),
      hmtx: bytesOf(hmtx),
      loca: bytesOf(loca),
      // These limits belong to hinting instructions, and there are none.
      maxp: changed(maxp, { 4: glyphs.length, 14: 1, 16: 0, 18: 0, 20: 0, 22: 0, 24: 0, 26: 0 }),
    })
  }

  #thousandths(units: number): number {
    return Math.round((units * 1000) / this.tables.head.getUint16(18))
  }

  /** In the font's own units. The last metrics have the advance of all further glyphs. */
  #metricsOf(glyph: number): { advance: number; leftBearing: number } {
    const { hhea, hmtx } = this.tables
    const count = hhea.getUint16(34)
    return {
      advance: hmtx.getUint16(Math.min(glyph, count - 1) * 4),
      leftBearing: hmtx.getInt16(glyph < count ? glyph * 4 + 2 : count * 4 + (glyph - count) * 2),
    }
  }

  #outlineOf(glyph: number): DataView {
    const { glyf, head, loca } = this.tables
    const isLong = head.getInt16(50) === 1
    const offsetOf = (n: number) => (isLong ? loca.getUint32(n * 4) : loca.getUint16(n * 2) * 2)
    const start = offsetOf(glyph)
    return new DataView(glyf.buffer, glyf.byteOffset + start, offsetOf(glyph + 1) - start)
  }
}

const WOFF = 0x774f4646

async function tablesOf(file: DataView<ArrayBuffer>): Promise<Partial<Tables>> {
  const isWoff = file.byteLength > 44 && file.getUint32(0) === WOFF
  const [count, start, entry] = isWoff ? [file.getUint16(12), 44, 20] : [file.getUint16(4), 12, 16]
  const tables: Record<string, DataView> = {}
  for (let n = 0; n < count; n++) {
    const at = start + n * entry
    const name = String.fromCharCode(...[0, 1, 2, 3].map((each) => file.getUint8(at + each)))
    if (!TABLES.some((each) => each === name)) continue
    const [offset, length, whole] = isWoff ? [4, 8, 12] : [8, 12, 12]
    const stored = new Uint8Array(
      file.buffer,
      file.byteOffset + file.getUint32(at + offset),
      file.getUint32(at + length),
    )
    const bytes = stored.length < file.getUint32(at + whole) ? await inflated(stored) : stored
    tables[name] = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }
  return tables
}

async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

function glyphsByCharacter(cmap: DataView): ReadonlyMap<number, number> {
  const offsets = Array.from({ length: cmap.getUint16(2) }, (_, n) => cmap.getUint32(4 + n * 8 + 4))
  const glyphs = new Map<number, number>()
  for (const offset of new Set(offsets)) {
    const format = cmap.getUint16(offset)
    const found = format === 4 ? inSegments(cmap, offset) : format === 12 ? inGroups(cmap, offset) : []
    for (const [code, glyph] of found) if (glyph !== 0) glyphs.set(code, glyph)
  }
  return glyphs
}

type CodeAndGlyph = readonly [code: number, glyph: number]

/** Format 4. */
function* inSegments(cmap: DataView, offset: number): Generator<CodeAndGlyph> {
  const twice = cmap.getUint16(offset + 6)
  const ends = offset + 14
  const starts = ends + twice + 2
  for (let at = 0; at < twice; at += 2) {
    const [start, end] = [cmap.getUint16(starts + at), cmap.getUint16(ends + at)]
    const delta = cmap.getUint16(starts + twice + at)
    const rangeAt = starts + twice * 2 + at
    const range = cmap.getUint16(rangeAt)
    for (let code = start; code <= end && code < 0xffff; code++) {
      const glyph = range === 0 ? code : cmap.getUint16(rangeAt + range + (code - start) * 2)
      yield [code, glyph === 0 ? 0 : (glyph + delta) & 0xffff]
    }
  }
}

/** Format 12. */
function* inGroups(cmap: DataView, offset: number): Generator<CodeAndGlyph> {
  for (let n = 0; n < cmap.getUint32(offset + 12); n++) {
    const at = offset + 16 + n * 12
    const [start, end, first] = [cmap.getUint32(at), cmap.getUint32(at + 4), cmap.getUint32(at + 8)]
    for (let code = start; code <= end; code++) yield [code, first + code - start]
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: DataView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

const padded = (length: number): number => Math.ceil(length / 4) * 4

function changed(table: DataView, numbers: Readonly<Record<number, number>>): Uint8Array {
  const copy = bytesOf(table).slice()
  for (const [at, number] of Object.entries(numbers)) new DataView(copy.buffer).setUint16(Number(at), number)
  return copy
}

/** Flags of the components of a composite glyph. */
const [WORDS, SCALE, MORE, TWO_SCALES, MATRIX, INSTRUCTIONS] = [0x01, 0x08, 0x20, 0x40, 0x80, 0x100]

/** Removes hinting instructions, which need tables of the whole font. `renumber` adds a component and returns its number. */
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

function fontFile(tables: Readonly<Record<string, Uint8Array>>): Uint8Array<ArrayBuffer> {
  const entries = Object.entries(tables)
  const head = 12 + entries.length * 16
  const file = new Uint8Array(head + entries.reduce((sum, [, { length }]) => sum + padded(length), 0))
  const view = new DataView(file.buffer)
  const power = Math.floor(Math.log2(entries.length))
  const header = [1, 0, entries.length, 16 * 2 ** power, power, entries.length * 16 - 16 * 2 ** power]
  header.forEach((number, n) => view.setUint16(n * 2, number))
  let start = head
  entries.forEach(([name, table], n) => {
    file.set(table, start)
    file.set(new TextEncoder().encode(name), 12 + n * 16)
    let checksum = 0
    for (let at = 0; at < table.length; at += 4) checksum += view.getUint32(start + at)
    // A number of 32 bits is written without the rest.
    for (const [place, number] of [checksum, start, table.length].entries())
      view.setUint32(16 + n * 16 + place * 4, number)
    start += padded(table.length)
  })
  return file
}
