import { basename } from 'node:path'
import type { Evidence } from '../../../src/base/evidence.js'
import { withoutEnd } from '../../../src/base/text/ends.js'
import { isObject, messageOf } from '../../../src/storage/unknown.js'
import { Refusal, readText } from '../../refusal.js'
import { anything, gradeIn, type Json, resolved, type Shape, type ShapeProperty, shapeOfSchema } from './shape.js'

export interface DescribedOperation {
  readonly method: string
  readonly path: string
  readonly id?: string | undefined
  readonly grade?: Evidence | undefined
  /** The fields of its query and its own headers, such as `query limit`. */
  readonly parameters: ReadonlyMap<string, ShapeProperty>
  readonly body?: Shape | undefined
  /** The JSON of each status. `default`: of all others. Undefined: no JSON. */
  readonly answers: ReadonlyMap<string, Shape | undefined>
}

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head']
/** Two paths that differ only in the names of their parameters have one key. */
export const keyOf = (method: string, path: string): string =>
  `${method} ${withoutEnd(path.replace(/\{[^{}]*\}/g, '{}'), '/') || '/'}`

/** The operations of an OpenAPI document (3.0 or 3.1) or a Swagger document (2). Throws `Refusal`. */
export function operationsIn(document: Json, name: string): DescribedOperation[] {
  const { paths } = document
  if (!isObject(paths)) throw new Refusal(`${name} has no "paths", so it describes no operation`)
  return Object.entries(paths).flatMap(([path, item]) => {
    const own = resolved(item, document)
    return methods
      .filter((method) => isObject(own[method]))
      .map((method) => operationOf(own[method] as Json, { method: method.toUpperCase(), path, item: own, document })) // The filter found an object.
  })
}

type Place = { readonly method: string; readonly path: string; readonly item: Json; readonly document: Json }

function operationOf(operation: Json, { method, path, item, document }: Place): DescribedOperation {
  const parameters = [...listIn(item.parameters), ...listIn(operation.parameters)].map((part) =>
    resolved(part, document),
  )
  const { operationId } = operation
  return {
    method,
    path,
    id: typeof operationId === 'string' ? operationId : undefined,
    grade: gradeIn(operation),
    parameters: new Map(parameters.flatMap((part) => parameterOf(part, document))),
    body: bodyOf(operation, parameters, document),
    answers: new Map(
      Object.entries(isObject(operation.responses) ? operation.responses : {})
        .filter(([status]) => !status.startsWith('x-'))
        .map(([status, response]) => [status, answerOf(resolved(response, document), document)]),
    ),
  }
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
/** OpenAPI says that descriptions of these headers are ignored. */
const ignored = ['accept', 'content-type', 'authorization']

function parameterOf(part: Json, document: Json): [string, ShapeProperty][] {
  const { name, in: place, required } = part
  if (typeof name !== 'string') return []
  const isHeader = place === 'header' && !ignored.includes(name.toLowerCase())
  if (place !== 'query' && !isHeader) return []
  // In Swagger 2, the parameter itself has the type.
  const shape = shapeOfSchema(part.schema ?? part, document)
  const property = { shape: 'schema' in part || 'type' in part ? shape : anything, isRequired: required === true }
  return [[`${place} ${isHeader ? name.toLowerCase() : name}`, { ...property, grade: gradeIn(part) }]]
}

function bodyOf(operation: Json, parameters: readonly Json[], document: Json): Shape | undefined {
  const schema = schemaIn(resolved(operation.requestBody, document))
  if (schema !== undefined) return shapeOfSchema(schema, document)
  const inBody = parameters.find((part) => part.in === 'body')
  if (inBody) return shapeOfSchema(inBody.schema, document)
  const form = parameters.filter((part) => part.in === 'formData')
  if (form.length === 0) return undefined
  const properties = form.map((part) => [String(part.name), part])
  const required = form.filter((part) => part.required === true).map(({ name }) => name)
  return shapeOfSchema({ type: 'object', properties: Object.fromEntries(properties), required }, document)
}

function answerOf(response: Json, document: Json): Shape | undefined {
  const schema = response.schema ?? schemaIn(response, /json/)
  return schema === undefined ? undefined : shapeOfSchema(schema, document)
}

/** The schema of the JSON in a body or an answer, or of the first media type that is wanted. */
function schemaIn({ content }: Json, wanted = /json|form/): unknown {
  if (!isObject(content)) return undefined
  const types = Object.keys(content).filter((type) => wanted.test(type))
  const media = content[types.find((type) => type.includes('json')) ?? types[0] ?? '']
  return isObject(media) ? (media.schema ?? {}) : undefined
}

/** The path below which a document says that its operations are. */
export function basePathOf(document: Json): string {
  const [server] = listIn(document.servers)
  const address = document.swagger === undefined ? (isObject(server) ? server.url : undefined) : document.basePath
  if (typeof address !== 'string') return ''
  const path = withoutEnd(address.replace(/^[a-z][a-z+.-]*:\/\/[^/]*/i, ''), '/')
  return path === '' || path.startsWith('/') ? path : `/${path}`
}

export type Source =
  | { readonly kind: 'openapi'; readonly name: string; readonly document: Json }
  | { readonly kind: 'har'; readonly name: string; readonly entries: readonly unknown[] }

/** How long a URL may take, in milliseconds. */
const MOST_MS = 30_000

/** Reads a file or a URL: an OpenAPI or Swagger document in JSON or YAML, or a HAR. Throws `Refusal`. */
export async function readSource(place: string): Promise<Source> {
  const isUrl = /^https?:\/\//i.test(place)
  const text = isUrl ? await download(place) : await readText(place)
  const name = isUrl ? place : basename(place)
  return sourceOf(await parseDocument(name, text), name)
}

async function download(url: string): Promise<string> {
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json, application/yaml, text/yaml, */*;q=0.5' },
      signal: AbortSignal.timeout(MOST_MS),
    })
    if (response.ok) return await response.text()
    throw new Refusal(`${url} answers ${response.status}`)
  } catch (cause) {
    if (cause instanceof Refusal) throw cause
    const reason = cause instanceof Error && cause.cause !== undefined ? messageOf(cause.cause) : messageOf(cause)
    throw new Refusal(`cannot read ${url}: ${reason}`, { cause })
  }
}

/** JSON begins with a brace. Anything else may be YAML. */
async function parseDocument(name: string, text: string): Promise<unknown> {
  const plain = text.replace(/^\ufeff/, '').trimStart()
  const isJson = plain.startsWith('{')
  try {
    if (isJson) return JSON.parse(plain)
    const { parse } = await import('yaml')
    return parse(plain)
  } catch (cause) {
    if (plain.startsWith('<')) throw neither(name)
    const [line = ''] = messageOf(cause).split('\n')
    throw new Refusal(`${name} is not ${isJson ? 'JSON' : 'JSON or YAML'}: ${line.replace(/:$/, '')}`, { cause })
  }
}

function sourceOf(document: unknown, name: string): Source {
  if (!isObject(document)) throw neither(name)
  const { log, openapi, swagger } = document
  if (isObject(log) && Array.isArray(log.entries)) return { kind: 'har', name, entries: log.entries }
  const version = openapi ?? swagger
  if (version === undefined) throw neither(name)
  if (!/^(3\.[01]|2\.0)/.test(String(version)))
    throw new Refusal(`${name} is OpenAPI ${String(version)}; this command reads 3.0, 3.1 and Swagger 2.0`)
  return { kind: 'openapi', name, document }
}

const neither = (name: string): Refusal =>
  new Refusal(
    `${name} is neither an OpenAPI document (with "openapi" or "swagger") nor a recorded session (HAR, with "log.entries")`,
  )
