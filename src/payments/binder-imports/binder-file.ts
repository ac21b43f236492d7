import { type Problem, problem } from '../../base/problem.js'
import { withoutEnd } from '../../base/text/ends.js'
import { isDay } from '../../base/time.js'
import { CsvMalformed, type CsvRecord, type CsvSource, csvRecords } from '../../http/csv/csv-records.js'
import { MAX_UNITS } from '../../money/ledger/amount.js'
import { type BinderColumn, binderColumns } from '../statements/binder.js'

export interface BinderRow {
  /** Counted from 1, which is the header. */
  readonly line: number
  /** Unix milliseconds. */
  readonly at: number
  readonly action: 'receive' | 'send'
  readonly identity: string
  /** Address of the other twin. */
  readonly counterpart: string
  /** Null for a delegate. */
  readonly value: BinderValue | null
}

export interface BinderValue {
  readonly dq: string
  /** A count of 10^-9 of the digital quantity, above zero. */
  readonly nanos: bigint
  /** How many decimals it needs, 0 to 9. */
  readonly decimals: number
}

/** The problem of a row that cannot be imported. `expected` completes the sentence "it must be …". */
export const binderFault = (line: number, column: BinderColumn, expected: string, given?: string): Problem =>
  problem('binder_invalid', {
    detail: `Line ${line}, ${column}: it must be ${expected}${given === undefined ? '' : `, not ${quotedCell(given)}`}.`,
    fields: { line, column, expected },
    facts: { given: given === undefined ? undefined : quotedCell(given) },
  })

const lineFault = (line: number, what: string): Problem =>
  problem('binder_invalid', { detail: `Line ${line} ${what}.`, fields: { line, column: null, expected: what } })

/** Reads the CSV of a binder, newest row first, and yields its rows in pieces. Throws `binder_invalid` for the first wrong cell. */
export async function* binderRows(csv: CsvSource): AsyncGenerator<BinderRow[]> {
  const order = new RowOrder()
  let read: RowReader | undefined
  try {
    for await (const records of csvRecords(csv)) {
      const rows: BinderRow[] = []
      for (const record of records)
        if (read) {
          const row = read(record)
          order.check(row)
          rows.push(row)
        } else read = readerOf(record)
      yield rows
    }
  } catch (error) {
    throw error instanceof CsvMalformed ? lineFault(error.line, error.message) : error
  }
  if (!read) throw lineFault(1, `must name the columns ${binderColumns.join(', ')}`)
}

type RowReader = (record: CsvRecord) => BinderRow
type CellReader = (column: BinderColumn) => string

function readerOf({ line, cells: header }: CsvRecord): RowReader {
  const missing = binderColumns.find((column) => !header.includes(column))
  const stray = header.find((name, at) => !isColumn(name) || header.indexOf(name) !== at)
  if (missing !== undefined) throw lineFault(line, `must name the column ${missing}`)
  if (stray !== undefined) throw lineFault(line, `must not name the column ${quotedCell(stray)}, or not twice`)
  const places = Object.fromEntries(binderColumns.map((column) => [column, header.indexOf(column)]))
  return ({ line, cells }) => rowOf(line, (column) => unescaped(cells[places[column] ?? -1] ?? ''))
}

const isColumn = (name: string): name is BinderColumn => binderColumns.some((column) => column === name)

/** Takes back the apostrophe that keeps spreadsheets from reading a cell as a formula. */
const unescaped = (cell: string): string => cell.replace(/^'(?=[=+\-@\t\r\uFF0B\uFF0D\uFF1D\uFF20])/, '')

function rowOf(line: number, cell: CellReader): BinderRow {
  const action = cell('fileAction')
  if (action !== 'receive' && action !== 'send') throw binderFault(line, 'fileAction', 'receive or send', action)
  const [other, own] =
    action === 'receive'
      ? (['fromAddress', 'destinationAddress'] as const)
      : (['destinationAddress', 'fromAddress'] as const)
  if (cell(own) !== '') hashIn(line, own, cell, 'an address (41 and 64 hex digits) or empty')
  return {
    line,
    action,
    at: timeIn(line, cell),
    identity: hashIn(line, 'fileIdentity', cell, 'a hash: 41 and 64 hex digits'),
    counterpart: hashIn(line, other, cell, 'an address: 41 and 64 hex digits'),
    value: cell('fileType') === '' && cell('amount') === '' ? null : valueIn(line, cell),
  }
}

function hashIn(line: number, column: BinderColumn, cell: CellReader, expected: string): string {
  const text = cell(column)
  if (!/^41[0-9a-f]{64}$/.test(text)) throw binderFault(line, column, expected, text)
  return text
}

function valueIn(line: number, cell: CellReader): BinderValue {
  const dq = hashIn(line, 'fileType', cell, 'the hash of a digital quantity, or empty together with amount')
  const text = cell('amount')
  const [, whole = '', fraction = ''] = /^(\d{1,16})(?:\.(\d+))?$/.exec(text) ?? []
  const digits = withoutEnd(fraction, '0')
  if (whole === '' || digits.length > 9)
    throw binderFault(line, 'amount', 'a number with at most 9 decimals, such as 1.68', text)
  const nanos = BigInt(whole + digits.padEnd(9, '0'))
  if (nanos === 0n) throw binderFault(line, 'amount', 'above zero', text)
  return { dq, nanos, decimals: digits.length }
}

const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/

function timeIn(line: number, cell: CellReader): number {
  const text = cell('timestamp')
  const [, day] = TIME.exec(text) ?? []
  const at = day === undefined || !isDay(day) ? Number.NaN : Date.parse(text)
  if (Number.isNaN(at)) throw binderFault(line, 'timestamp', 'an ISO 8601 time such as 2026-01-31T09:05:00.000Z', text)
  return at
}

class RowOrder {
  #last: BinderRow | undefined
  #identities = new Set<string>()

  check(row: BinderRow): void {
    const last = this.#last
    this.#last = row
    if (last && row.at > last.at)
      throw binderFault(
        row.line,
        'timestamp',
        `at or before that of line ${last.line}, because the newest row is first`,
      )
    if (last?.at !== row.at) this.#identities = new Set()
    const identity = `${row.action} ${row.identity}`
    if (this.#identities.has(identity))
      throw binderFault(row.line, 'fileIdentity', 'unlike that of an earlier line with the same time and action')
    this.#identities.add(identity)
  }
}

const SHOWN = 80

const quotedCell = (text: string): string =>
  JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text.toWellFormed())

/** What the rows of one digital quantity add up to. Amounts are counts of 10^-9. */
export interface QuantityTally {
  readonly dq: string
  /** What the twin received. */
  readonly received: bigint
  /** What it received minus what it sent. */
  readonly net: bigint
  /** What it must have had before the oldest row, so that it was never below zero. */
  readonly opening: bigint
  readonly oldestAt: number
  /** How many decimals the finest amount has, and its line. */
  readonly finest: { readonly decimals: number; readonly line: number }
  readonly largest: { readonly nanos: bigint; readonly line: number }
}

/** Adds up the rows of a binder that come newest first. */
export class BinderTally {
  readonly #quantities = new Map<string, QuantityTally>()
  /** In the order in which the file names them. */
  readonly order: string[] = []

  add({ action, at, line }: Pick<BinderRow, 'action' | 'at' | 'line'>, { dq, nanos, decimals }: BinderValue): void {
    const change = action === 'receive' ? nanos : -nanos
    const known = this.#quantities.get(dq)
    if (!known) this.order.push(dq)
    const { received = 0n, net = 0n, opening = 0n } = known ?? {}
    const finest = known && known.finest.decimals >= decimals ? known.finest : { decimals, line }
    const largest = known && known.largest.nanos >= nanos ? known.largest : { nanos, line }
    this.#quantities.set(dq, {
      dq,
      received: received + (action === 'receive' ? nanos : 0n),
      net: net + change,
      // This row is older than those before it: what they need, it may have brought.
      opening: opening > change ? opening - change : 0n,
      oldestAt: at,
      finest,
      largest,
    })
  }

  of(dq: string): QuantityTally | undefined {
    return this.#quantities.get(dq)
  }

  quantities(): readonly QuantityTally[] {
    return [...this.#quantities.values()]
  }
}

/** Prices settle to a thousandth, so a digital quantity that a binder brings has at least as many decimals if it can. */
const USUAL_DECIMALS = 3

/** How many decimals a digital quantity gets that only the binder names. Throws `binder_invalid` if no number fits. */
export function decimalsFor(tally: QuantityTally): number {
  const usual = Math.max(tally.finest.decimals, USUAL_DECIMALS)
  const decimals = fits(tally, usual) ? usual : tally.finest.decimals
  checkDecimals(tally, decimals)
  return decimals
}

/** Checks that a digital quantity with these decimals can hold what a binder names. Throws `binder_invalid`. */
export function checkDecimals(tally: QuantityTally, decimals: number): void {
  const { finest, largest } = tally
  checkFineness(finest, decimals)
  if (fits(tally, decimals)) return
  throw binderFault(largest.line, 'amount', `less: with ${decimals} decimals, all that is received is too much`)
}

/** Throws `binder_invalid` if an amount is finer than the smallest unit. */
export function checkFineness({ decimals, line }: QuantityTally['finest'], most: number): void {
  if (decimals > most)
    throw binderFault(line, 'amount', `a number with at most ${most} decimals, as its digital quantity has`)
}

const fits = ({ received, opening, largest }: QuantityTally, decimals: number): boolean =>
  unitsIn(received + opening, decimals) <= MAX_UNITS &&
  // From 2^52 units on, a JSON number may lose the last decimal.
  (decimals === 0 || unitsIn(largest.nanos, decimals) <= MAX_UNITS / 2n)

/** Converts a count of 10^-9 to smallest units. */
export const unitsIn = (nanos: bigint, decimals: number): bigint => nanos / 10n ** BigInt(9 - decimals)
