import type { IncomingHttpHeaders } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { canonicalJson, hiddenKey } from '../../src/base/secrets.js'

/** A request or an answer while its fields are read. */
export interface Message {
  readonly headers: IncomingHttpHeaders
  /** Undefined if it is too long to be looked at. */
  readonly body: Buffer | undefined
}

/** As much of a body as is looked at, in bytes. */
export const MOST_BODY = 1_000_000

const decoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gunzipSync(bytes, { maxOutputLength: MOST_BODY }),
  deflate: (bytes) => inflateSync(bytes, { maxOutputLength: MOST_BODY }),
  br: (bytes) => brotliDecompressSync(bytes, { maxOutputLength: MOST_BODY }),
}

/** The text of a body. Undefined if it is too long, or in a coding that nobody can read. */
export function bodyText({ headers, body }: Message): string | undefined {
  if (!body) return undefined
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  try {
    const decode = coding === 'identity' ? (bytes: Buffer) => bytes : decoders[coding]
    return decode?.(body).toString()
  } catch {
    return undefined
  }
}

/** The fields of JSON, or of a form: `{ 'metadata[order]': '7' }`. Undefined if it is neither. */
export function bodyFields(message: Message): unknown {
  const text = bodyText(message)
  if (text === undefined || text === '') return undefined
  if (/^application\/x-www-form-urlencoded\b/i.test(message.headers['content-type'] ?? ''))
    return Object.fromEntries(new URLSearchParams(text))
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a JSON pointer (RFC 6901) names, as text. Undefined if there is nothing. */
export function fieldAt(fields: unknown, pointer: string): string | undefined {
  let at = fields
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, name)) return undefined
    at = Reflect.get(at, name)
  }
  if (at === undefined || at === null || at === '') return undefined
  return typeof at === 'object' ? canonicalJson(at) : String(at)
}

/** All texts in JSON. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : []
}

/** What stands for a value of others: equal values are seen to be equal, and nothing else. */
export const hashed = (value: string): string => hiddenKey(value)
