import { dereference, type Schema, validate } from '@cfworker/json-schema'
import { routeList, texts } from '../../../scripts/route-table.js'
import type { Evidence } from '../../../src/base/evidence.js'
import { openapi } from '../../../src/http/openapi/document.js'
import type { Route, Version } from '../../../src/http/route.js'

/** Compares answers with the OpenAPI document. */

interface DocumentedResponse {
  headers?: Record<string, unknown>
  content?: Record<string, { schema: Schema }>
}

interface Known {
  readonly paths: Record<string, Record<string, { responses: Record<string, DocumentedResponse> }>>
  /** The parts of the document by their addresses. */
  readonly parts: Record<string, Schema | boolean>
}

interface SentAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON. */
  readonly body: unknown
}

const BASE = new URL('https://document.invalid/')
const documents = new Map<Evidence, Known>()

function documentOf(evidence: Evidence): Known {
  const known = documents.get(evidence)
  if (known) return known
  const document = openapi({ routes: routeList, baseUrl: 'http://127.0.0.1:4242', evidence, texts })
  const { components, paths } = document as unknown as { components: { schemas: object } } & Pick<Known, 'paths'>
  const added: Known = { paths, parts: dereference({ $defs: components.schemas, components } as Schema, {}, BASE) }
  documents.set(evidence, added)
  return added
}

/** What the document shows of an operation, under each of its versions: undefined where it does not list it. */
const operations = new Map<Evidence, Map<string, Record<string, DocumentedResponse> | undefined>>()

function responsesOf(
  { route, version }: { readonly route: Route; readonly version: Version | undefined },
  evidence: Evidence,
): Record<string, DocumentedResponse> | undefined {
  const known = operations.get(evidence) ?? new Map<string, Record<string, DocumentedResponse> | undefined>()
  operations.set(evidence, known)
  const name = `${version} ${route.id}`
  if (!known.has(name)) {
    const path = `${version ? `/${version}` : ''}${route.path}`.replace(/:(\w+)/g, '{$1}')
    known.set(name, documentOf(evidence).paths[path]?.[route.method.toLowerCase()]?.responses)
  }
  return known.get(name)
}

/** Headers that a response lists if answers with it may have them. */
const listed = ['x-session-id', 'idempotent-replayed', 'retry-after', 'www-authenticate', 'x-payment-id', 'location']

/** What an answer has that the document of a service with this evidence grade does not show. */
export function documentFaults(
  { route, version }: { readonly route: Route; readonly version: Version | undefined },
  { status, headers, text, body }: SentAnswer,
  evidence: Evidence,
): string[] {
  const responses = responsesOf({ route, version }, evidence)
  if (!responses) return status === 501 ? [] : [`${route.id} is not listed, and answered ${status}`]
  const response = responses[status] ?? responses.default
  if (!response) return [`${route.id} does not list the status ${status}`]
  const sent = listed.filter((name) => headers.has(name))
  const names = Object.keys(sent.length > 0 ? (response.headers ?? {}) : {}).map((name) => name.toLowerCase())
  const unlisted = sent.filter((name) => !names.includes(name))
  const { parts } = documentOf(evidence)
  return [
    ...unlisted.map((name) => `${route.id} does not list the header ${name} of ${status}`),
    ...(text === '' ? [] : bodyFaults(route, { type: mediaType(headers), body, status }, response, parts)),
  ]
}

const mediaType = (headers: Headers): string => headers.get('content-type')?.split(';')[0] ?? ''

function bodyFaults(
  { id }: Route,
  { type, body, status }: { readonly type: string; readonly body: unknown; readonly status: number },
  { content = {} }: DocumentedResponse,
  parts: Known['parts'],
): string[] {
  const media = content[type] ?? content['*/*']
  if (!media) return [`${id} does not list the media type ${type} of ${status}`]
  if (type !== 'application/json' && type !== 'application/problem+json') return []
  const faults = (media.schema.anyOf ?? [media.schema]).map((each) => schemaFaults({ id, body, status }, each, parts))
  return faults.some(({ length }) => length === 0) ? [] : faults.flat()
}

function schemaFaults(
  { id, body, status }: { readonly id: string; readonly body: unknown; readonly status: number },
  given: Schema,
  parts: Known['parts'],
): string[] {
  const reference = given.$ref
  const schema = reference === undefined ? given : parts[BASE.href + reference]
  if (schema === undefined || typeof schema === 'boolean') return [`${id} refers to nothing: ${reference}`]
  const shape = shapeOf(body)
  const faultless = shapes.get(schema) ?? new Set()
  shapes.set(schema, faultless)
  if (faultless.has(`${status} ${shape}`)) return []
  const { errors } = validate(body, schema, '2020-12', parts)
  const wrong = errors.map(({ instanceLocation, error }) => `${id}, ${status}, ${instanceLocation}: ${error}`)
  const faults = [...wrong, ...(status >= 400 && schema.allOf ? unknownFields(id, schema, body) : [])]
  if (faults.length === 0) faultless.add(`${status} ${shape}`)
  return faults
}

const DRAWN = /[\w-]{16,}|\d+/g
const drawnShape = (text: string): string => (!/\d/.test(text) ? text : text.length < 16 ? '0' : `0x${text.length}`)

/** The shapes of bodies that a schema has already taken: most answers differ from earlier ones in no more than their ids. */
const shapes = new WeakMap<Schema, Set<string>>()

/** A body without what is counted or drawn at random: its fields, its words, the lengths of its secrets, what its lists hold. */
function shapeOf(value: unknown): string {
  if (typeof value === 'number') return `${Number.isInteger(value) ? 0 : 0.5}${value < 0 ? '-' : ''}`
  if (typeof value === 'string') return value.length > 500 ? 'text' : JSON.stringify(value.replace(DRAWN, drawnShape))
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${[...new Set(value.map(shapeOf))].sort()}]`
  let shape = ''
  for (const name in value) shape += `${name}:${shapeOf((value as Record<string, unknown>)[name])},`
  return `{${shape}}`
}

/** The fields of a problem that its component does not show. */
function unknownFields(id: string, { allOf = [] }: Schema, body: unknown): string[] {
  const known = new Set(['error', 'status', 'code', ...allOf.flatMap(({ properties = {} }) => Object.keys(properties))])
  const fields = Object.keys(body as object).filter((field) => !known.has(field)) // A problem is an object.
  return fields.map((field) => `${id} does not list the field ${field} of its errors`)
}
