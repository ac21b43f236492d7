import { ownCopy } from '../../base/memo.js'
import type { SchemaPlace } from '../../http/fields/marks.js'
import type { RequestHeaders } from '../../http/incoming.js'
import type { JournalMessage } from '../onion/entry.js'
import { redact, redactHeader } from './redact.js'

/** The longest text of a body that is kept, in characters. */
const LONGEST_BODY = 16_384

/** A body as it was sent or answered. */
export type SentBody = string | Uint8Array | ReadableStream<Uint8Array> | null | undefined

/** Headers that nobody changes any more, or the lines of those that their sender may change. */
export type SentHeaders = string | RequestHeaders | Readonly<Record<string, string>>

/**
 * One side of an exchange, as it was. Few are ever looked at, so they are written down, and their secrets hidden, when they
 * are. Fields are declared, because each request makes two, and fields with a value of their own cost a call more.
 */
export class KeptMessage {
  /** How many characters it has. */
  declare readonly length: number
  declare private headers: SentHeaders
  /** One character more than it may have, if it was cut. */
  declare private text: string | null
  declare private shown: JournalMessage | undefined
  /** The delegate that its body names, which is a secret. Known when it was shown. */
  declare delegate: string | undefined

  constructor(headers: SentHeaders, body: SentBody) {
    const text = typeof body === 'string' ? body || null : body ? bodyText(body) : null
    this.text = text !== null && text.length > LONGEST_BODY ? ownCopy(text.slice(0, LONGEST_BODY + 1)) : text
    this.headers = headers
    this.length = (typeof headers === 'string' ? headers.length : lengthOf(headers)) + (this.text?.length ?? 0)
    this.shown = undefined
    this.delegate = undefined
  }

  /** Without its secrets, which its schemas mark. From the first time on, only this is kept. */
  show(place: SchemaPlace = []): JournalMessage {
    if (!this.shown) {
      const { headers, text } = this
      this.delegate = DELEGATE.exec(text ?? '')?.[1]
      const lines = typeof headers === 'string' ? headers : headerLines(pairsOf(headers))
      this.shown = { headers: shownHeaders(lines), ...shownBody(text, place) }
      this.headers = ''
      this.text = null
    }
    return this.shown
  }
}

/** The hash of the delegate that a request pays with. */
const DELEGATE = /"persona_delegate"\s*:\s*"(41[0-9a-f]{64})"/

function shownBody(text: string | null, place: SchemaPlace): Pick<JournalMessage, 'body' | 'cut'> {
  if (text === null) return { body: null }
  if (text.length <= LONGEST_BODY) return { body: redact(text, place) }
  return { body: redact(wholePart(text.slice(0, LONGEST_BODY)), place), cut: true }
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

const isReader = (headers: Exclude<SentHeaders, string>): headers is RequestHeaders => typeof headers.get === 'function'

const pairsOf = (headers: Exclude<SentHeaders, string>): Iterable<readonly [string, string | null]> =>
  isReader(headers) ? Array.from(headers.keys(), (name) => [name, headers.get(name)] as const) : Object.entries(headers)

/** The characters of headers, without writing them down. */
function lengthOf(headers: Exclude<SentHeaders, string>): number {
  let length = 0
  if (isReader(headers)) for (const name of headers.keys()) length += name.length + (headers.get(name)?.length ?? 0)
  else for (const name in headers) length += name.length + (headers[name]?.length ?? 0)
  return length
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
function bodyText(body: Uint8Array | ReadableStream): string | null {
  if (body instanceof ReadableStream || body.length === 0) return null
  return utf8.decode(body.subarray(0, LONGEST_BODY * 4 + 4))
}
