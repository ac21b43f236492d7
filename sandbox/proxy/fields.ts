import type { IncomingHttpHeaders } from 'node:http'
import * as zlib from 'node:zlib'
import { parsedJson } from '../../src/base/json.js'
import { canonicalJson } from '../../src/base/secrets.js'

/** A request or an answer while its fields are read. */
export interface Message {
  readonly headers: IncomingHttpHeaders
  /** Undefined if it is too long to be looked at. */
  readonly body: Buffer | undefined
}

/** As much of a body as is looked at, in bytes. */
export const MOST_BODY = 1_000_000

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Buffer

/** Services send `deflate` with the frame of zlib, and without. */
const inflated: Decode = (bytes, options) => {
  try {
    return zlib.inflateSync(bytes, options)
  } catch {
    return zlib.inflateRawSync(bytes, options)
  }
}

/** Node 20 does not know zstd. */
const unzstd: Decode | undefined = Reflect.get(zlib, 'zstdDecompressSync')

const decoders: ReadonlyMap<string, Decode> = new Map([
  ['identity', (bytes) => bytes],
  ['gzip', zlib.gunzipSync],
  ['x-gzip', zlib.gunzipSync],
  ['deflate', inflated],
  ['br', zlib.brotliDecompressSync],
  ...(unzstd ? [['zstd', unzstd] as const] : []),
])

/** The last coding is the outermost. Throws for one that nobody can read. */
function withoutCodings(bytes: Buffer, codings: readonly string[]): Buffer {
  return codings.reduceRight((coded, coding) => {
    const decode = decoders.get(coding)
    if (!decode) throw new RangeError('an unknown coding')
    return decode(coded, { maxOutputLength: MOST_BODY })
  }, bytes)
}

const MOST_CODINGS = 4

/** The text of a body. Undefined if it is too long, or in a coding that nobody can read. */
export function bodyText({ headers, body }: Message): string | undefined {
  const codings = (headers['content-encoding'] ?? 'identity').split(',').map((each) => each.trim().toLowerCase())
  if (!body || codings.length > MOST_CODINGS) return undefined
  try {
    return decoderFor(headers['content-type']).decode(withoutCodings(body, codings))
  } catch {
    return undefined
  }
}

function decoderFor(type = ''): TextDecoder {
  const [, charset = 'utf-8'] = /;\s*charset="?([\w-]+)/i.exec(type) ?? []
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

/** The fields of JSON, or of a form: `{ 'metadata[order]': '7' }`. Undefined if it is neither. */
export function bodyFields(message: Message): unknown {
  const text = bodyText(message)
  if (text === undefined || text === '') return undefined
  if (isForm(message)) return formFields(text)
  const fields = parsedJson(text)
  return isShallow(fields, DEEPEST) ? fields : undefined
}

export const isForm = ({ headers }: Message): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')

/** A name that occurs several times has a list. */
function formFields(text: string): object {
  const fields = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const values = fields.get(name)
    if (values) values.push(value)
    else fields.set(name, [value])
  }
  return Object.fromEntries([...fields].map(([name, values]) => [name, values.length > 1 ? values : values[0]]))
}

/** Whoever reads fields does so one level after the other, on the stack. */
const DEEPEST = 100

const isShallow = (value: unknown, levels: number): boolean =>
  value === null ||
  typeof value !== 'object' ||
  (levels > 0 && Object.values(value).every((part) => isShallow(part, levels - 1)))

/** The names in a JSON pointer (RFC 6901). */
const namesIn = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** What a JSON pointer names, as text. Undefined if there is nothing. */
export function fieldAt(fields: unknown, pointer: string): string | undefined {
  let at = fields
  for (const name of namesIn(pointer)) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, name)) return undefined
    at = Reflect.get(at, name)
  }
  if (at === undefined || at === null || at === '') return undefined
  return typeof at === 'object' ? canonicalJson(at) : String(at)
}

/** The fields without what JSON pointers name. */
export const withoutFields = (fields: unknown, pointers: readonly string[]): unknown =>
  pointers.reduce((kept, pointer) => withoutField(kept, namesIn(pointer)), fields)

function withoutField(fields: unknown, [name = '', ...rest]: readonly string[]): unknown {
  if (fields === null || typeof fields !== 'object' || !Object.hasOwn(fields, name)) return fields
  const parts = Object.entries(fields).flatMap(([each, part]) => {
    if (each !== name) return [[each, part] as const]
    return rest.length > 0 ? [[each, withoutField(part, rest)] as const] : []
  })
  return Object.fromEntries(parts)
}

/** All texts in JSON. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : []
}

/** A decimal number in units of which `decimals` digits are one. Smaller parts are dropped. Undefined if it is none. */
export function smallestUnits(text: string, decimals: number): bigint | undefined {
  const [, whole, part = '', shift = '0'] = /^(\d{1,40})(?:\.(\d{0,40}))?(?:e([+-]?\d{1,2}))?$/i.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  const zeros = Number(shift) + decimals - part.length
  return BigInt(zeros >= 0 ? whole + part + '0'.repeat(zeros) : (whole + part).slice(0, zeros) || '0')
}
