import { ownCopy } from '../../base/memo.js'
import type { SchemaPlace } from '../../http/fields/marks.js'
import type { JournalMessage } from '../onion/entry.js'
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
  #delegate: string | undefined

  constructor(headers: string, body: SentBody) {
    const text = (typeof body === 'string' ? body || null : body && bodyText(body)) ?? null
    // No character needs more than four bytes.
    const isLong = body instanceof Uint8Array && body.length > LONGEST_BODY * 4
    this.#isCut = text !== null && (isLong || text.length > LONGEST_BODY)
    this.#text = text !== null && this.#isCut ? ownCopy(text.slice(0, LONGEST_BODY)) : text
    this.#headers = headers
    this.length = headers.length + (this.#text?.length ?? 0)
  }

  /** Without its secrets, which its schemas mark. From the first time on, only this is kept. */
  show(place: SchemaPlace = []): JournalMessage {
    if (!this.#shown) {
      this.#delegate = DELEGATE.exec(this.#text ?? '')?.[1]
      this.#shown = { headers: shownHeaders(this.#headers), ...shownBody(this.#text, this.#isCut, place) }
      this.#headers = ''
      this.#text = null
    }
    return this.#shown
  }

  /** The delegate that its body names, which is a secret. Known when it was shown. */
  get delegate(): string | undefined {
    return this.#delegate
  }
}

/** The hash of the delegate that a request pays with. */
const DELEGATE = /"persona_delegate"\s*:\s*"(41[0-9a-f]{64})"/

function shownBody(text: string | null, isCut: boolean, place: SchemaPlace): Pick<JournalMessage, 'body' | 'cut'> {
  if (text === null) return { body: null }
  return isCut ? { body: redact(wholePart(text), place), cut: true } : { body: redact(text, place) }
}

/** A text that was cut, without its last part: a secret that the cut divides would not be recognized. */
function wholePart(text: string): string {
  let end = text.length
  while (end > 0 && !',{[&;"'.includes(text[end - 1] ?? '')) end--
  return text.slice(0, end)
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
function bodyText(body: SentBody): string | null {
  if (body === null || body === undefined || body instanceof ReadableStream || body.length === 0) return null
  return typeof body === 'string' ? body : utf8.decode(body.subarray(0, LONGEST_BODY * 4))
}
