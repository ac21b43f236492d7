import { jsonCopy } from '../base/json.js'
import type { Row, State } from './storage.js'
import { isObject } from './unknown.js'

/** The counters of two states, each with its later number. */
export function latestOf(counters: State['counters'], others: State['counters']): State['counters'] {
  const latest = { ...counters }
  for (const [name, last] of Object.entries(others)) latest[name] = Math.max(last, latest[name] ?? 0)
  return latest
}

/** Checks that a document is a `State`. Throws a TypeError that says what is wrong. */
export function assertState(document: unknown): asserts document is State {
  assertLists(document)
  for (const [name, list] of Object.entries(document.rows)) assertRows(name, list)
}

/** Checks that a document has a schema, counters and lists of rows, but not the rows themselves. Throws a TypeError. */
export function assertLists(document: unknown): asserts document is State {
  if (!isObject(document)) throw new TypeError('a state must be an object')
  const { schema = 1, counters, rows } = document
  if (typeof schema !== 'number' || !Number.isSafeInteger(schema) || schema < 1)
    throw new TypeError('"schema" must be a whole number from 1 up')
  assertCounters(counters)
  if (!isObject(rows)) throw new TypeError('"rows" must be an object')
  for (const [name, list] of Object.entries(rows))
    if (!Array.isArray(list)) throw new TypeError(`rows.${name} must be a list`)
}

/** How deep the values of a row may nest: deeper than a request, whose fields are parts of rows. */
export const ROW_DEPTH = 64

/** The highest number that a counter may begin with. A service that adds a million rows a second needs centuries from there. */
const HIGHEST_COUNTER = 1e12

/** Checks the counters of a state. They leave room for new rows, whose ids stay exact. Throws a TypeError. */
export function assertCounters(counters: unknown): asserts counters is State['counters'] {
  if (!isObject(counters)) throw new TypeError('"counters" must be an object')
  for (const [name, last] of Object.entries(counters))
    if (typeof last !== 'number' || !Number.isSafeInteger(last) || last < 0 || last > HIGHEST_COUNTER)
      throw new TypeError(`counters.${name} must be a whole number from 0 to ${HIGHEST_COUNTER}`)
}

/** Whether they are counters as `assertCounters` wants them. */
export function areCounters(counters: unknown): counters is State['counters'] {
  try {
    assertCounters(counters)
    return true
  } catch {
    return false
  }
}

/** What no storage keeps as it is in a value that nests `most` levels deep at most. Undefined if all of it can be stored. */
export function whyUnstorable(value: unknown, most: number, depth = 1): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'holds a number that is too large'
  if (typeof value === 'string')
    return value.isWellFormed() && !value.includes('\0') ? undefined : 'holds U+0000 or half of a surrogate pair'
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === most) return `is nested deeper than ${most} levels`
  for (const [name, part] of Object.entries(value)) {
    const what = whyUnstorable(name, most) ?? whyUnstorable(part, most, depth + 1)
    if (what !== undefined) return what
  }
  return undefined
}

function assertRows(name: string, list: readonly unknown[]): void {
  const ids = new Set<unknown>()
  for (const [at, row] of list.entries()) {
    const id = isObject(row) ? row.id : undefined
    if (typeof id !== 'string' && !Number.isFinite(id)) throw new TypeError(`rows.${name}[${at}] has no id`)
    if (ids.has(id)) throw new TypeError(`rows.${name}[${at}] repeats the id ${JSON.stringify(id)}`)
    ids.add(id)
  }
}

/** A copy of a state that shares nothing with it, as JSON would bring it. Row by row: a whole state may be too long for one text. */
export function copyState(state: State): State {
  const rows: Record<string, Row[]> = {}
  for (const [name, list] of Object.entries(state.rows)) rows[name] = list.map(jsonCopy)
  return { ...state, counters: { ...state.counters }, rows }
}

/**
 * A state as one JSON document: its head, then each collection with one row on a line. Pieces of it can be written and
 * read one after the other, so a state may be larger than the longest text that an engine has.
 */

const CHARACTERS_PER_CHUNK = 1 << 16
const ROWS = ',"rows":{'
const END = '}}'

export const stateText = ({ rows, ...head }: State): Generator<string> => inPieces(stateLines(head, rows))

/** Joins lines to pieces of about 64 KiB. */
export function* inPieces(lines: Iterable<string>): Generator<string> {
  let piece = ''
  for (const line of lines) {
    piece += line
    if (piece.length < CHARACTERS_PER_CHUNK) continue
    yield piece
    piece = ''
  }
  yield piece
}

function* stateLines(head: Omit<State, 'rows'>, rows: State['rows']): Generator<string> {
  yield `${JSON.stringify(head).slice(0, -1)}${ROWS}`
  let comma = ''
  for (const [name, list] of Object.entries(rows)) {
    yield `${comma}\n${JSON.stringify(name)}:[`
    let before = '\n'
    for (const row of list) {
      yield before + JSON.stringify(row)
      before = ',\n'
    }
    yield '\n]'
    comma = ','
  }
  yield `\n${END}\n`
}

/** Reads what `stateText` wrote, line by line, and other JSON whole. Throws a SyntaxError or a TypeError for what is no state. */
export class StateReader {
  #head: Record<string, unknown> | undefined
  readonly #rows: Record<string, Row[]> = {}
  #list: Row[] | undefined
  /** The lines so far, of a document that was not written line by line. */
  #others: string[] | undefined
  #hasEnded = false

  /** Takes the next line, without its line break. */
  add(line: string): void {
    if (this.#others) this.#others.push(line)
    else if (this.#head) this.#addPart(line)
    else if (line.startsWith('{') && line.endsWith(ROWS)) this.#head = JSON.parse(`${line.slice(0, -ROWS.length)}}`)
    else this.#others = [line]
  }

  /** The state, after the last line. Its rows are not checked. */
  state(): State {
    const document: unknown = this.#others ? JSON.parse(this.#others.join('\n')) : this.#document()
    assertLists(document)
    return document
  }

  #document(): object {
    if (!this.#hasEnded) throw new SyntaxError('its end is missing')
    return { ...this.#head, rows: this.#rows }
  }

  #addPart(line: string): void {
    if (this.#hasEnded) {
      if (line !== '') throw new SyntaxError('something follows its end')
    } else if (line === END) this.#hasEnded = true
    else if (line === ']' || line === '],') this.#list = undefined
    else if (this.#list) this.#list.push(rowIn(line))
    else {
      if (!line.endsWith(':[')) throw new SyntaxError('a row is in no collection')
      this.#list = []
      this.#rows[JSON.parse(line.slice(0, -2))] = this.#list
    }
  }
}

function rowIn(line: string): Row {
  const row: unknown = JSON.parse(line.endsWith(',') ? line.slice(0, -1) : line)
  if (!isObject(row)) throw new TypeError('a line is not a row')
  return row as unknown as Row // Whoever takes the state checks its rows.
}

/** Reads a whole document. Throws like `StateReader`. */
export function parseState(bytes: Uint8Array): State {
  const reader = new StateReader()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(LINE_BREAK, start)
    const end = found < 0 ? bytes.length : found
    reader.add(decoder.decode(bytes.subarray(start, end)))
    start = end + 1
  }
  return reader.state()
}

const LINE_BREAK = 10
