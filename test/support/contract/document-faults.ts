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

/** Headers that a response lists if answers with it may have them. */
const listed = ['x-session-id', 'idempotent-replayed', 'retry-after', 'www-authenticate', 'x-payment-id', 'location']

/** What an answer has that the document of a service with this evidence grade does not show. */
export function documentFaults(
  { route, version }: { readonly route: Route; readonly version: Version | undefined },
  { status, headers, text, body }: SentAnswer,
  evidence: Evidence,
): string[] {
  const { paths, parts } = documentOf(evidence)
  const path = `${version ? `/${version}` : ''}${route.path}`.replace(/:(\w+)/g, '{$1}')
  const operation = paths[path]?.[route.method.toLowerCase()]
  if (!operation) return status === 501 ? [] : [`${route.id} is not listed, and answered ${status}`]
  const response = operation.responses[status] ?? operation.responses.default
  if (!response) return [`${route.id} does not list the status ${status}`]
  const names = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()))
  const unlisted = listed.filter((name) => headers.has(name) && !names.has(name))
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
  const { errors } = validate(body, schema, '2020-12', parts)
  const wrong = errors.map(({ instanceLocation, error }) => `${id}, ${status}, ${instanceLocation}: ${error}`)
  return [...wrong, ...(status >= 400 && schema.allOf ? unknownFields(id, schema, body) : [])]
}

/** The fields of a problem that its component does not show. */
function unknownFields(id: string, { allOf = [] }: Schema, body: unknown): string[] {
  const known = new Set(['error', 'status', 'code', ...allOf.flatMap(({ properties = {} }) => Object.keys(properties))])
  const fields = Object.keys(body as object).filter((field) => !known.has(field)) // A problem is an object.
  return fields.map((field) => `${id} does not list the field ${field} of its errors`)
}
