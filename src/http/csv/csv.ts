import { removeBuffer } from './csv-buffer.js'

// Must load between `csv-buffer.ts` and `removeBuffer()`.

import { stringify } from 'csv-stringify/sync'
import { type Reply, streamed } from '../reply.js'

removeBuffer()

/** Whether the caller prefers JSON over CSV. Default: CSV. */
export const prefersJson = (headers: Pick<Headers, 'get'>): boolean => {
  const accept = headers.get('accept') ?? ''
  const json = accept.indexOf('application/json')
  const csv = accept.indexOf('text/csv')
  return json >= 0 && (csv < 0 || json < csv)
}

/** Streams records as CSV with a header row. Escapes cells that a spreadsheet would read as a formula. */
export function csvReply(columns: readonly string[], pieces: AsyncIterable<object[]>): Reply {
  return streamed(csvText(columns, pieces), 'text/csv; charset=utf-8')
}

async function* csvText(columns: readonly string[], pieces: AsyncIterable<object[]>) {
  const options = { columns: [...columns], escape_formulas: true, cast: { number: plainNumber } }
  yield stringify([], { ...options, header: true })
  for await (const records of pieces) yield stringify(records, options)
}

/** Small amounts without exponents, which some CSV readers do not know. Amounts have at most nine decimals. */
const plainNumber = (value: number): string =>
  String(value).includes('e-') ? value.toFixed(9).replace(/0+$/, '') : String(value)

export function jsonReply(pieces: AsyncIterable<object[]>): Reply {
  return streamed(jsonText(pieces), 'application/json')
}

async function* jsonText(pieces: AsyncIterable<object[]>) {
  let before = '['
  for await (const records of pieces) {
    if (records.length > 0) yield before + records.map((record) => JSON.stringify(record)).join(',')
    before = records.length > 0 ? ',' : before
  }
  yield before === '[' ? '[]' : ']'
}
