import type { Row } from '../../../src/storage/storage.js'
import { isObject } from '../../../src/storage/unknown.js'
import type { JournaledCommit } from './commit.js'
import { objectLine, textLine } from './line.js'

/**
 * Commits that are written together say nothing twice. The first is written whole. In those after it, a long text that
 * occurred before is `~` and its number among the long texts so far, and a row with the fields of an earlier one is a list:
 * the number of those fields, and their values. `of` is the number of the first commit.
 * Only the values of a row and of its objects are shortened, not what is deeper.
 */

/** From how many characters on a text is worth a number. */
const LONG = 20
const SIGN = '~'

/** The value that a field had last, and its JSON if it has it again. */
class Column {
  /** No value is this symbol. */
  value: unknown = NONE
  json = ''
  /** Of a field that holds objects. */
  readonly parts = new Map<string, Column>()

  constructor(readonly start: string) {}
}

const NONE = Symbol('none')

interface Fields {
  readonly number: number
  readonly names: readonly string[]
  readonly columns: readonly Column[]
}

/** The lines of commits that are written together. Their text is put together here, because most of it is known already. */
export class Packing {
  /** The first commit, and whether what it says is noted. */
  #base: JournaledCommit | undefined
  #isNoted = false
  readonly #texts = new Map<string, number>()
  /** The fields that the last row of a collection had. */
  readonly #last = new Map<string, Fields>()
  #kinds = 0

  /** The line of the next commit. Throws a TypeError if a row of it is not JSON. Then it changes nothing for the next one. */
  lineOf(commit: JournaledCommit): string {
    const base = this.#base
    if (!base) {
      const line = objectLine(commit)
      this.#base = commit
      return line
    }
    try {
      if (!this.#isNoted) this.#rows(base.rows)
      this.#isNoted = true
      return textLine(this.#open(commit, base.commit))
    } catch (error) {
      // What it has noted since is in no line.
      this.#forget()
      throw error
    }
  }

  #open({ commit, counters, rows, removed }: JournaledCommit, of: number): string {
    const moved = counters ? `,"counters":${JSON.stringify(counters)}` : ''
    const gone = removed ? `,"removed":${JSON.stringify(removed)}` : ''
    return `{"commit":${commit},"of":${of}${moved},"rows":${this.#rows(rows)}${gone}`
  }

  #forget(): void {
    this.#texts.clear()
    this.#last.clear()
    this.#base = undefined
    this.#isNoted = false
    this.#kinds = 0
  }

  /** JSON of rows by collection. */
  #rows(rows: JournaledCommit['rows'] = {}): string {
    let json = ''
    for (const name in rows) {
      json += json === '' ? `{${JSON.stringify(name)}:[` : `,${JSON.stringify(name)}:[`
      let comma = ''
      for (const row of rows[name] ?? []) {
        json += comma + this.#row(name, row)
        comma = ','
      }
      json += ']'
    }
    return json === '' ? '{}' : `${json}}`
  }

  #row(collection: string, row: Row): string {
    const fields = this.#last.get(collection)
    if (!fields || !hasFields(row, fields.names)) return this.#first(collection, row)
    let json = `[${fields.number}`
    let at = 0
    for (const name in row) {
      const value: unknown = row[name as keyof Row]
      const column = value === undefined ? undefined : fields.columns[at++]
      if (column) json += `,${this.#value(value, column)}`
    }
    return `${json}]`
  }

  #first(collection: string, row: Row): string {
    const names: string[] = []
    const columns: Column[] = []
    let json = ''
    for (const name in row) {
      const value: unknown = row[name as keyof Row]
      if (value === undefined) continue
      const column = new Column(`${JSON.stringify(name)}:`)
      names.push(name)
      columns.push(column)
      json += (json === '' ? '{' : ',') + column.start + this.#value(value, column)
    }
    this.#last.set(collection, { number: this.#kinds++, names, columns })
    return `${json}}`
  }

  #value(value: unknown, column: Column): string {
    if (value === column.value) return column.json
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return this.#parts(value, column)
    const json =
      typeof value === 'string'
        ? this.#short(value)
        : Number.isFinite(value)
          ? `${value}`
          : (JSON.stringify(value) ?? 'null')
    column.value = value
    column.json = typeof value === 'string' && value.length >= LONG ? this.#short(value) : json
    return json
  }

  #parts(value: object, { parts }: Column): string {
    let json = ''
    for (const name in value) {
      const part: unknown = value[name as keyof typeof value]
      if (part === undefined) continue
      let column = parts.get(name)
      if (!column) parts.set(name, (column = new Column(`${JSON.stringify(name)}:`)))
      const text = typeof part === 'object' ? JSON.stringify(part) : this.#value(part, column)
      json += (json === '' ? '{' : ',') + column.start + text
    }
    return json === '' ? '{}' : `${json}}`
  }

  #short(text: string): string {
    if (text.length >= LONG) {
      const known = this.#texts.get(text)
      if (known !== undefined) return `"${SIGN}${known}"`
      this.#texts.set(text, this.#texts.size)
    }
    return JSON.stringify(text.startsWith(SIGN) ? SIGN + text : text)
  }
}

/** Whether a row has these fields in this order. JSON has no field without a value. */
function hasFields(row: Row, names: readonly string[]): boolean {
  let at = 0
  for (const name in row) if (row[name as keyof Row] !== undefined && name !== names[at++]) return false
  return at === names.length
}

const ORDINARY = { configurable: true, enumerable: true, writable: true }

/** Reads the commits of lines that `Packing` made, in their order. */
export class Unpacking {
  #base: JournaledCommit | undefined
  #isNoted = false
  #last = 0
  readonly #texts: string[] = []
  readonly #fields: (readonly string[])[] = []

  /** Throws a TypeError if the commit needs an earlier one that was not read. */
  commitOf(packed: JournaledCommit & { readonly of?: unknown }): JournaledCommit {
    const { of, ...commit } = packed
    const last = this.#last
    this.#last = commit.commit
    if (of === undefined) {
      this.#base = commit
      this.#isNoted = false
      return commit
    }
    const base = this.#base
    this.#base = undefined
    if (!base || of !== base.commit || commit.commit !== last + 1 || !commit.rows)
      throw new TypeError('a line of the same write before it is missing or damaged')
    if (!this.#isNoted) this.#note(base)
    this.#isNoted = true
    const rows: Record<string, Row[]> = {}
    // The checksum of its line shows that they are rows.
    for (const [name, list] of Object.entries(commit.rows)) rows[name] = list.map((row) => this.#row(row) as Row)
    this.#base = base
    return { ...commit, rows }
  }

  /** Notes the texts and the fields of a commit that is written whole. */
  #note({ rows = {} }: JournaledCommit): void {
    const texts = new Set<string>()
    this.#fields.length = 0
    for (const list of Object.values(rows)) {
      let last: readonly string[] | undefined
      for (const row of list) {
        if (!last || !hasFields(row, last)) this.#fields.push((last = Object.keys(row)))
        for (const value of Object.values(row))
          for (const part of isObject(value) ? Object.values(value) : [value])
            if (typeof part === 'string' && part.length >= LONG) texts.add(part)
      }
    }
    this.#texts.splice(0, Infinity, ...texts)
  }

  #row(packed: unknown): unknown {
    if (!Array.isArray(packed)) {
      if (!isObject(packed)) throw new TypeError('it is not a row')
      this.#fields.push(Object.keys(packed))
      return this.#opened(packed, true)
    }
    const fields = this.#fields[packed[0]]
    if (packed.length - 1 !== fields?.length) throw new TypeError('its fields are unknown')
    const row: Record<string, unknown> = {}
    for (let at = 0; at < fields.length; at++) {
      const name = fields[at] ?? ''
      const value = this.#value(packed[at + 1], true)
      if (name === '__proto__') Object.defineProperty(row, name, { ...ORDINARY, value })
      else row[name] = value
    }
    return row
  }

  #value(value: unknown, isOfRow: boolean): unknown {
    if (typeof value === 'string') return this.#text(value)
    return isOfRow && isObject(value) && !Array.isArray(value) ? this.#opened(value, false) : value
  }

  #opened(object: Readonly<Record<string, unknown>>, isRow: boolean): object {
    const whole = object as Record<string, unknown> // Nobody else has it.
    for (const name of Object.keys(whole)) {
      const value = whole[name]
      const opened = this.#value(value, isRow)
      if (opened !== value) whole[name] = opened
    }
    return whole
  }

  #text(text: string): string {
    let whole = text
    if (text.startsWith(SIGN)) {
      if (!text.startsWith(SIGN, 1)) {
        const known = this.#texts[Number(text.slice(1))]
        if (known === undefined) throw new TypeError('a text of it is unknown')
        return known
      }
      whole = text.slice(1)
    }
    if (whole.length >= LONG) this.#texts.push(whole)
    return whole
  }
}
