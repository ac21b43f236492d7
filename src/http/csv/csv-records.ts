import type { CsvError, InfoRecord } from 'csv-parse/browser/esm'
import { letOthersRun } from '../../base/ports.js'
import { hasCode } from '../../storage/unknown.js'

export interface CsvRecord {
  /** The line in which it ends, counted from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** The text is not CSV. The message completes the sentence "line 7 …". */
export class CsvMalformed extends Error {
  override name = 'CsvMalformed'

  constructor(
    readonly line: number,
    message: string,
    options: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** No record is longer. Without a limit, a quote that nobody closes would gather the rest of the file. */
const MAX_RECORD_BYTES = 65_536
/** How many characters are parsed at once. Other calls run between two such pieces. */
const CHARACTERS_PER_PARSE = 65_536

/** Text, whole or in pieces. Bytes are UTF-8. */
export type CsvSource = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>

/** Yields the records of each piece of CSV, header row included, without empty lines. Throws `CsvMalformed` after those before. */
export async function* csvRecords(csv: CsvSource): AsyncGenerator<CsvRecord[]> {
  // The build for browsers runs everywhere. It is loaded here because few services ever read CSV.
  const { parse } = await import('csv-parse/browser/esm')
  const parser = parse({ info: true, skip_empty_lines: true, max_record_size: MAX_RECORD_BYTES })
  let failure: CsvError | undefined
  parser.once('error', (error: CsvError) => (failure = error))
  const ended = new Promise((resolve) => parser.once('end', resolve).once('error', resolve))
  let hasBegun = false
  // What is not UTF-8 becomes U+FFFD, so that whoever checks its cell can name it.
  const utf8 = new TextDecoder()
  for await (const chunk of csv)
    for (const piece of inPieces(typeof chunk === 'string' ? chunk : utf8.decode(chunk, { stream: true }))) {
      parser.write(piece)
      hasBegun = true
      yield readParsed(parser)
      if (failure) throw malformed(failure)
      await letOthersRun()
    }
  // The parser cannot end without having begun.
  if (!hasBegun) return
  parser.end()
  const last = readParsed(parser)
  await ended
  yield [...last, ...readParsed(parser)]
  if (failure) throw malformed(failure)
}

/** Never cuts a surrogate pair. */
function* inPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = at + CHARACTERS_PER_PARSE
    const isPair = /[\uD800-\uDBFF]/.test(text.charAt(end - 1))
    const cut = isPair ? end - 1 : end
    yield text.slice(at, cut)
    at = cut
  }
}

/** Takes what the parser has read so far. It parses while it is written to, because its buffer is always emptied. */
function readParsed(parser: { read(): { record: string[]; info: InfoRecord } | null }): CsvRecord[] {
  const records: CsvRecord[] = []
  for (let next = parser.read(); next; next = parser.read()) records.push({ line: next.info.lines, cells: next.record })
  return records
}

function malformed(error: CsvError): CsvMalformed {
  const reason = Object.entries(reasons).find(([code]) => hasCode(error, code))?.[1]
  return new CsvMalformed(Number(error.lines), reason ?? `is not CSV: ${error.message}`, { cause: error })
}

const reasons: Record<string, string> = {
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: 'must have as many cells as the header',
  CSV_QUOTE_NOT_CLOSED: 'must close its quote',
  CSV_INVALID_CLOSING_QUOTE: 'must have a comma or the end of the line after a closing quote',
  INVALID_OPENING_QUOTE: 'must have quotes around the whole cell, or none',
  CSV_MAX_RECORD_SIZE: `must be shorter than ${MAX_RECORD_BYTES} bytes`,
}
