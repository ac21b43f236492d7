import type * as z from 'zod/mini'
import { Problem, problem } from '../../base/problem.js'
import { parseState, ROW_DEPTH, whyUnstorable } from '../../storage/state.js'
import { StorageUnavailable } from '../../storage/storage.js'
import { checkShape, fieldRefused } from './field.js'
import type { HeldBody } from './intake.js'

/** The body of a request, if the runtime reads it itself. */
export interface BodySource {
  /** Reads the body, also of a GET. Undefined if it is larger than `limit` bytes. A problem that it throws is the answer. */
  readonly body?: ((limit: number) => Promise<Uint8Array | undefined>) | undefined
  /** Reads the body in pieces instead. Who stops early ignores the rest. */
  readonly chunks?: (() => AsyncIterable<Uint8Array>) | undefined
}

type Fields = Record<string, unknown>

interface Sent {
  readonly request: Request
  readonly headers: Pick<Headers, 'get'>
  readonly source: BodySource
  readonly recording?: { takeBody(body: Uint8Array | string): void } | undefined
}

/** How a body is read. */
export interface BodyRules {
  /** In bytes. */
  readonly limit: number
  /** It holds rows, which nest deeper than fields. */
  readonly isSnapshot: boolean
  /** Takes its bytes. */
  readonly onBytes?: ((bytes: Uint8Array) => void) | undefined
  /** Counts it while it is in memory. Undefined for a body that is not counted. */
  readonly held?: HeldBody | undefined
  /** Called before more is read than a few kilobytes. A problem that it throws is the answer. */
  beforeMore?(): Promise<unknown>
}

/** Reads the fields of a JSON or form body. Throws `body_malformed`, `body_too_large`, `content_type_refused`, `overloaded`. */
export async function readFields(sent: Sent, rules: BodyRules): Promise<Fields> {
  const { limit, isSnapshot, held } = rules
  const reading = held ? held.whole((untilCut) => readBytes(sent, rules, untilCut)) : readBytes(sent, rules)
  const bytes = await reading.catch((cause: unknown) => {
    if (cause instanceof Problem || cause instanceof StorageUnavailable) throw cause
    throw problem('body_malformed', { detail: 'It was incomplete.', cause })
  })
  if (bytes === undefined) throw problem('body_too_large', { detail: `The limit is ${limit} bytes.` })
  rules.onBytes?.(bytes)
  if (bytes.length === 0) return {}
  const { recording } = sent
  const header = sent.headers.get('content-type')
  const type = header === JSON_TYPE ? header : mediaType(header)
  const isJson = type === JSON_TYPE || type.endsWith('+json')
  if ((isJson && bytes.length <= LONGEST_TEXT) || type === 'application/x-www-form-urlencoded') {
    const text = decodeText(bytes)
    recording?.takeBody(text ?? bytes)
    if (text === undefined) throw problem('body_malformed', { detail: 'It is not UTF-8.' })
    return isJson ? jsonFields(text, isSnapshot ? SNAPSHOT_DEPTH : DEPTH) : formFields(text)
  }
  recording?.takeBody(bytes)
  if (isJson) return longFields(bytes)
  throw problem('content_type_refused', {
    detail: 'This body must be application/json or application/x-www-form-urlencoded.',
  })
}

const JSON_TYPE = 'application/json'

/** As much of a body is read before its caller is known: looking for them first would cost each small call a read. */
const SMALL = 16_384
type UntilCut = <P>(part: Promise<P>) => Promise<P>

/** Reads a body, or undefined if it is larger than the limit. Counts the bytes, because Content-Length may be wrong. */
async function readBytes(
  { request, headers, source }: Sent,
  { limit, held, beforeMore }: BodyRules,
  untilCut: UntilCut = (part) => part,
): Promise<Uint8Array | undefined> {
  const declared = Number(headers.get('content-length') ?? Number.NaN)
  if (declared > limit) return undefined
  if (source.body && (declared <= SMALL || !source.chunks)) {
    const announced = declared > 0 ? declared : 0
    if (announced > 0) held?.take(announced)
    const bytes = await untilCut(source.body(limit))
    // A runtime that reads by itself says only now how many have come.
    if (bytes && bytes.byteLength > announced) held?.take(bytes.byteLength - announced)
    return bytes
  }
  let isKnown = declared > SMALL
  if (isKnown) await beforeMore?.()
  const chunks = (source.chunks ? source.chunks() : chunksOf(request))[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  let size = 0
  let isWhole = false
  try {
    for (;;) {
      const { done, value } = await untilCut(chunks.next())
      isWhole = done ?? false
      if (done) return pieces.length === 1 ? pieces[0] : joined(pieces, size)
      size += value.byteLength
      if (size > limit) return undefined
      if (!isKnown && size > SMALL) {
        isKnown = true
        await beforeMore?.()
      }
      held?.take(value.byteLength)
      pieces.push(value)
    }
  } finally {
    // Not awaited, because it waits for the next piece.
    if (!isWhole) chunks.return?.()?.catch(() => {})
  }
}

/** The body of a request, piece by piece. Who stops early does not read the rest. */
export async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  // Some browsers do not support streams of request bodies.
  if (request.body === undefined) yield new Uint8Array(await request.arrayBuffer())
  if (!request.body) return
  const reader = request.body.getReader()
  let isWhole = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      isWhole = done
      if (done) return
      yield value
    }
  } finally {
    // Not awaited, because it does not resolve while a clone of the request is unread.
    if (!isWhole) reader.cancel().catch(() => {})
  }
}

function joined(pieces: Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.byteLength
  }
  return whole
}

/** Only a snapshot may be larger. An engine may not have a text that is as long as it. */
const LONGEST_TEXT = 64 << 20

function longFields(bytes: Uint8Array): Fields {
  try {
    return { ...parseState(bytes) }
  } catch (cause) {
    throw problem('body_malformed', { detail: 'It is neither JSON nor a snapshot as this service writes it.', cause })
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

export const mediaType = (header: string | null): string => (header?.split(';')[0] ?? '').trim().toLowerCase()

function jsonFields(text: string, depth: number): Readonly<Fields> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw problem('body_malformed', { detail: 'It is not JSON.', cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw problem('body_malformed', { detail: 'It must be a JSON object.' })
  for (const [name, part] of Object.entries(value)) refuseUnstorable(part, name, depth)
  return value as Readonly<Fields>
}

const DEPTH = 32
/** Rows hold fields of bodies, and a snapshot holds rows in lists in an object. */
const SNAPSHOT_DEPTH = ROW_DEPTH + 3

/** Refuses values that some storages cannot store, and deep nesting. Throws `field_invalid`. */
function refuseUnstorable(value: unknown, field: string, most = DEPTH): void {
  const what = whyUnstorable(value, most)
  if (what !== undefined) throw fieldRefused(field, what)
}

const formFields = (text: string): Fields => textFields(new URLSearchParams(text))

/** Fields from a query, path or form, whose values are text. */
export function textFields(pairs: Iterable<readonly [string, string]>): Fields {
  const fields: Fields = Object.create(null)
  for (const [name, text] of pairs) fields[name] = new TextValue(text, fields[name] instanceof TextValue)
  return fields
}

/** A value that came as text, so its type is unknown. */
export class TextValue {
  constructor(
    readonly text: string,
    readonly isRepeated: boolean,
  ) {}
}

/** Checks fields, converts text to their types, and ignores those that the schema does not name, unless it is strict or takes others. */
export function checkFields(schema: z.ZodMiniObject, fields: Fields): Record<string, unknown> {
  const isEmpty = Object.keys(fields).length === 0
  const known = isEmpty ? ofNothing.get(schema) : undefined
  if (known) return known
  const typed: Fields = {}
  for (const name of Object.keys(schema.shape)) {
    const value = fields[name]
    if (value instanceof TextValue) typed[name] = readTextValue(name, value, schema.shape[name])
    else if (value !== undefined) typed[name] = value
  }
  try {
    const checked = checkShape(schema, takesOthers(schema) ? { ...othersIn(fields), ...typed } : typed)
    if (isEmpty) ofNothing.set(schema, Object.freeze(checked))
    return checked
  } catch (error) {
    throw withHint(fields, error)
  }
}

/** All fields, with those that came as text as text. */
const othersIn = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof TextValue ? readTextValue(name, value, undefined) : value,
    ]),
  )

const JSON_AS_FORM = 'The body looks like JSON, but was sent as a form: send `Content-Type: application/json`.'

/** The name of the first field of a form that is JSON begins like JSON. */
function withHint(fields: Fields, error: unknown): unknown {
  const isJson = Object.keys(fields).some((name) => /^\s*[{[]/.test(name))
  if (!isJson || !(error instanceof Problem) || error.code !== 'field_invalid') return error
  const { detail, ...facts } = error.facts
  return problem('field_invalid', { detail: `${detail} ${JSON_AS_FORM}`, fields: error.fields, facts })
}

/** What each schema makes of no fields at all, which is what most requests send. */
const ofNothing = new WeakMap<z.ZodMiniObject, Record<string, unknown>>()

/** The same for texts that come once each, from a path. */
export function checkTexts(schema: z.ZodMiniObject, texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const typed: Fields = {}
  for (const name in schema.shape) {
    const text = texts[name]
    if (text === undefined) continue
    refuseUnstorable(text, name)
    typed[name] = readAs(schema.shape[name], text)
  }
  return checkShape(schema, typed)
}

const takesOthers = (schema: z.ZodMiniObject): boolean => schema._zod.def.catchall !== undefined

function readTextValue(name: string, { text, isRepeated }: TextValue, schema: z.core.$ZodType | undefined): unknown {
  if (isRepeated) throw fieldRefused(name, 'is given more than once')
  refuseUnstorable(text, name)
  return readAs(schema, text)
}

function readAs(schema: z.core.$ZodType | undefined, text: string): unknown {
  if (/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return baseKind(schema) === 'number' ? Number(text) : text
  if (text === 'true' || text === 'false') return baseKind(schema) === 'boolean' ? text === 'true' : text
  return text
}

interface Definition {
  type: string
  innerType?: z.core.$ZodType
}

function baseKind(schema: z.core.$ZodType | undefined): string | undefined {
  const definition = schema?._zod.def as Definition | undefined // zod's types do not show which schemas wrap others.
  return definition?.innerType ? baseKind(definition.innerType) : definition?.type
}

/** A body that a route reads as a stream of text. */
export interface TextBody {
  /** Its media type, such as `text/csv`. */
  readonly type: string
  /** In bytes. */
  readonly limit: number
}

/** Reads a body as text, in pieces. Throws `content_type_refused` at once, and `body_too_large` or `body_malformed` while it reads. */
export function readText({ request, headers, source }: Sent, { type, limit }: TextBody): AsyncIterable<string> {
  if (mediaType(headers.get('content-type')) !== type)
    throw problem('content_type_refused', { detail: `This body must be ${type}.` })
  const tooLarge = () => problem('body_too_large', { detail: `The limit is ${limit} bytes.` })
  if (Number(headers.get('content-length') ?? 0) > limit) throw tooLarge()
  return decoded(source.chunks ? source.chunks() : chunksOf(request), { limit, tooLarge })
}

async function* decoded(
  chunks: AsyncIterable<Uint8Array>,
  { limit, tooLarge }: { limit: number; tooLarge: () => Error },
): AsyncGenerator<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  let size = 0
  for await (const chunk of complete(chunks)) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge()
    yield decodedPart(() => utf8.decode(chunk, { stream: true }))
  }
  yield decodedPart(() => utf8.decode())
}

async function* complete(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (cause) {
    throw problem('body_malformed', { detail: 'It was incomplete.', cause })
  }
}

function decodedPart(decode: () => string): string {
  try {
    return decode()
  } catch (cause) {
    throw problem('body_malformed', { detail: 'It is not UTF-8.', cause })
  }
}
