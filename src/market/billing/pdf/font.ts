/** Tables that are read from a font file. */
const TABLES = ['head', 'hhea', 'maxp', 'hmtx', 'loca', 'glyf', 'cmap'] as const

export type TableName = (typeof TABLES)[number]

const isTable = (name: string): name is TableName => TABLES.some((each) => each === name)

/** A font with TrueType outlines (OpenType 1.9), without layout features. */
export class Font {
  readonly #glyphs: ReadonlyMap<number, number>
  readonly #unitsPerEm: number
  readonly #metrics: number
  readonly #hasLongOffsets: boolean

  private constructor(readonly tables: Readonly<Record<TableName, DataView>>) {
    this.#glyphs = glyphsByCharacter(tables.cmap)
    this.#unitsPerEm = tables.head.getUint16(18)
    this.#metrics = tables.hhea.getUint16(34)
    this.#hasLongOffsets = tables.head.getInt16(50) === 1
  }

  /** Reads a `.ttf` file or a `.woff` file. Throws for any other file. */
  static async read(file: Uint8Array<ArrayBuffer>): Promise<Font> {
    const found = await tablesOf(new DataView(file.buffer, file.byteOffset, file.byteLength))
    const tableOf = (name: TableName): DataView => {
      const table = found.get(name)
      if (table) return table
      throw new TypeError(`The font has no table "${name}". Use a .ttf or .woff file with TrueType outlines.`)
    }
    return new Font({
      head: tableOf('head'),
      hhea: tableOf('hhea'),
      maxp: tableOf('maxp'),
      hmtx: tableOf('hmtx'),
      loca: tableOf('loca'),
      glyf: tableOf('glyf'),
      cmap: tableOf('cmap'),
    })
  }

  /** Returns the glyph of a character, which is never 0, or undefined if the font lacks it. */
  glyphOf(character: string): number | undefined {
    return this.#glyphs.get(character.codePointAt(0) ?? 0)
  }

  /** In thousandths of the font's size. */
  widthOf(glyph: number): number {
    return this.thousandths(this.advanceOf(glyph))
  }

  /** In the font's own units. */
  advanceOf(glyph: number): number {
    return this.tables.hmtx.getUint16(Math.min(glyph, this.#metrics - 1) * 4)
  }

  leftBearingOf(glyph: number): number {
    const at = glyph < this.#metrics ? glyph * 4 + 2 : this.#metrics * 4 + (glyph - this.#metrics) * 2
    return this.tables.hmtx.getInt16(at)
  }

  outlineOf(glyph: number): DataView {
    const { glyf } = this.tables
    const start = this.#offsetOf(glyph)
    return new DataView(glyf.buffer, glyf.byteOffset + start, this.#offsetOf(glyph + 1) - start)
  }

  /** From the font's own units. */
  thousandths(units: number): number {
    return Math.round((units * 1000) / this.#unitsPerEm)
  }

  #offsetOf(glyph: number): number {
    const { loca } = this.tables
    return this.#hasLongOffsets ? loca.getUint32(glyph * 4) : loca.getUint16(glyph * 2) * 2
  }
}

const WOFF = 0x774f4646

async function tablesOf(file: DataView<ArrayBuffer>): Promise<Map<string, DataView>> {
  const isWoff = file.byteLength > 44 && file.getUint32(0) === WOFF
  const [count, start, entry] = isWoff ? [file.getUint16(12), 44, 20] : [file.getUint16(4), 12, 16]
  const tables = new Map<string, DataView>()
  for (let n = 0; n < count; n++) {
    const at = start + n * entry
    const name = [0, 1, 2, 3].map((each) => String.fromCharCode(file.getUint8(at + each))).join('')
    if (!isTable(name)) continue
    const [offset, length, whole] = isWoff
      ? [file.getUint32(at + 4), file.getUint32(at + 8), file.getUint32(at + 12)]
      : [file.getUint32(at + 8), file.getUint32(at + 12), file.getUint32(at + 12)]
    const stored = new Uint8Array(file.buffer, file.byteOffset + offset, length)
    const bytes = length < whole ? await inflated(stored) : stored
    tables.set(name, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  }
  return tables
}

async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** Unicode subtables in these formats, the most complete first. */
function glyphsByCharacter(cmap: DataView): ReadonlyMap<number, number> {
  const offsets = Array.from({ length: cmap.getUint16(2) }, (_, n) => cmap.getUint32(4 + n * 8 + 4))
  const glyphs = new Map<number, number>()
  const set = (code: number, glyph: number) => {
    if (glyph !== 0) glyphs.set(code, glyph)
  }
  for (const offset of new Set(offsets)) {
    const format = cmap.getUint16(offset)
    if (format === 4) readSegments(cmap, offset, set)
    if (format === 12) readGroups(cmap, offset, set)
  }
  return glyphs
}

type SetGlyph = (code: number, glyph: number) => void

/** Format 4. */
function readSegments(cmap: DataView, offset: number, set: SetGlyph): void {
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
      set(code, glyph === 0 ? 0 : (glyph + delta) & 0xffff)
    }
  }
}

/** Format 12. */
function readGroups(cmap: DataView, offset: number, set: SetGlyph): void {
  const count = cmap.getUint32(offset + 12)
  for (let n = 0; n < count; n++) {
    const at = offset + 16 + n * 12
    const [start, end, first] = [cmap.getUint32(at), cmap.getUint32(at + 4), cmap.getUint32(at + 8)]
    for (let code = start; code <= end; code++) set(code, first + code - start)
  }
}
