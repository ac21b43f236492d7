import type { JournalMessage } from '../../base/journal.js'
import { ownCopy } from '../../base/memo.js'
import { redact, redactHeader } from './redact.js'

/** The longest text of a body that is kept, in characters. */
const LONGEST_BODY = 16_384

/** A body as it was sent or answered. */
export type SentBody = string | Uint8Array | ReadableStream<Uint8Array> | null | undefined

/**
 * One side of an exchange, as it was. Few are ever looked at, so their secrets are hidden when they are. The headers are
 * one text, which costs less to keep than many.
 */
export class KeptMessage {
  /** How many characters it has. */
  readonly length: number
  readonly #isCut: boolean
  #headers: string
  #text: string | null
  #shown: JournalMessage | undefined

  constructor(headers: string, body: SentBody) {
    const text = textOf(body)
    // No character needs more than four bytes.
    this.#isCut = text !== null && (text.length > LONGEST_BODY || lengthOf(body) > LONGEST_BODY * 4)
    this.#text = text !== null && this.#isCut ? ownCopy(text.slice(0, LONGEST_BODY)) : text
    this.#headers = headers
    this.length = headers.length + (this.#text?.length ?? 0)
  }

  /** Without its secrets. From the first time on, only this is kept. */
  get shown(): JournalMessage {
    if (!this.#shown) {
      this.#shown = { headers: shownHeaders(this.#headers), ...shownBody(this.#text, this.#isCut) }
      this.#headers = ''
      this.#text = null
    }
    return this.#shown
  }
}

function shownBody(text: string | null, isCut: boolean): Pick<JournalMessage, 'body' | 'cut'> {
  if (text === null) return { body: null }
  const body = redact(text)
  // A secret that the cut divides would not be recognized, so the end goes too.
  return isCut ? { body: body.replace(/"[^"]*$/, ''), cut: true } : { body }
}

/** Headers as one text: no name or value has a line break. */
export function headerLines(headers: Iterable<readonly [string, string | null]>): string {
  const lines: string[] = []
  for (const [name, value] of headers) if (value !== null) lines.push(name, value)
  return lines.join('\n')
}

function shownHeaders(lines: string): JournalMessage['headers'] {
  const shown: Record<string, string> = {}
  const parts = lines === '' ? [] : lines.split('\n')
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [name = '', value = ''] = parts.slice(at, at + 2)
    shown[name] = redactHeader(name, value)
  }
  return shown
}

const utf8 = new TextDecoder()

/** Streams and empty bodies have none. */
function textOf(body: SentBody): string | null {
  if (body === null || body === undefined || body instanceof ReadableStream || body.length === 0) return null
  return typeof body === 'string' ? body : utf8.decode(body.subarray(0, LONGEST_BODY * 4))
}

const lengthOf = (body: SentBody): number => (typeof body === 'string' || body instanceof Uint8Array ? body.length : 0)
