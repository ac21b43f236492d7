import type * as z from 'zod/mini'
import { Problem, problem } from '../../base/problem.js'
import { parseState, ROW_DEPTH } from '../../storage/state.js'
import { StorageUnavailable } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import { checkShape, fieldRefused } from './field.js'
import type { HeldBody } from './held-bodies.js'

/** The body of a request, if the runtime reads it itself. */
export interface BodySource {
  /**
   * Reads the body. It is faster than the `Request`, and can read the body of a GET. Returns undefined if the body is
   * larger than `limit` bytes. A problem that it throws is the answer.
   */
  readonly body?: ((limit: number) => Promise<Uint8Array | undefined>) | undefined
  /** Reads the body in pieces instead. Who stops early ignores the rest. */
  readonly chunks?: (() => AsyncIterable<Uint8Array>) | undefined
}

type Fields = Record<string, unknown>

interface Sent {
  readonly request: Request
  readonly headers: Pick<Headers, 'get'>
  readonly source: BodySource
  readonly recording?: { takeBody(bytes: Uint8Array): void } | undefined
}

/** How a body is read. */
export interface BodyRules {
  /** In bytes. */
  readonly limit: number
  /** It holds rows, which nest deeper than fields. */
  readonly isSnapshot: boolean
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
  if (bytes.length === 0) return {}
  sent.recording?.takeBody(bytes)
  const type = mediaType(sent.headers.get('content-type'))
  if (type === 'application/json' || type.endsWith('+json'))
    return bytes.length > LONGEST_TEXT
      ? longFields(bytes)
      : jsonFields(decodeText(bytes), isSnapshot ? SNAPSHOT_DEPTH : DEPTH)
  if (type === 'application/x-www-form-urlencoded') return formFields(decodeText(bytes))
  throw problem('content_type_refused', {
    detail: 'This body must be application/json or application/x-www-form-urlencoded.',
  })
}

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
    held?.take(announced)
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
      if (done) return joined(pieces, size)
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

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw problem('body_malformed', { detail: 'It is not UTF-8.', cause })
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
  if (!isObject(value)) throw problem('body_malformed', { detail: 'It must be a JSON object.' })
  for (const [name, part] of Object.entries(value)) refuseUnstorable(part, name, depth)
  return value
}

/** How deep the fields of a body may nest. */
const DEPTH = 32
/** Rows hold fields of bodies, and a snapshot holds rows in lists in an object. */
const SNAPSHOT_DEPTH = ROW_DEPTH + 3

/** Refuses values that some storages cannot store, and deep nesting. Throws `field_invalid`. */
function refuseUnstorable(value: unknown, field: string, most: number, depth = 1): void {
  if (typeof value === 'string') refuseText(value, field)
  else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw fieldRefused(field, 'holds a number that is too large')
  } else if (typeof value === 'object' && value !== null) {
    if (depth === most) throw fieldRefused(field, `is nested deeper than ${most} levels`)
    for (const [name, part] of Object.entries(value)) {
      refuseText(name, field)
      refuseUnstorable(part, field, most, depth + 1)
    }
  }
}

function refuseText(text: string, field: string): void {
  if (!text.isWellFormed() || text.includes('\0')) throw fieldRefused(field, 'holds U+0000 or half of a surrogate pair')
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

/**
 * Checks fields against a schema. Converts text from a query, path or form to the type of its field. Ignores fields that the
 * schema does not name, unless it is strict. Throws `field_invalid`.
 */
export function checkFields(schema: z.ZodMiniObject, fields: Fields): Record<string, unknown> {
  const typed: Fields = {}
  for (const name of Object.keys(schema.shape)) {
    const value = fields[name]
    if (value instanceof TextValue) typed[name] = readTextValue(name, value, schema.shape[name])
    else if (value !== undefined) typed[name] = value
  }
  if (isStrict(schema)) for (const name of Object.keys(fields)) typed[name] ??= fields[name]
  return checkShape(schema, typed)
}

/** Whether a schema was created by `z.strictObject`. */
const isStrict = (schema: z.ZodMiniObject): boolean => schema._zod.def.catchall?._zod.def.type === 'never'

function readTextValue(name: string, { text, isRepeated }: TextValue, schema: z.core.$ZodType | undefined): unknown {
  if (isRepeated) throw fieldRefused(name, 'is given more than once')
  refuseText(text, name)
  return readAs(schema, text)
}

function readAs(schema: z.core.$ZodType | undefined, text: string): unknown {
  const kind = baseKind(schema)
  if (kind === 'number' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text)
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
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
