import { type ProblemCode, problemSentence, problemStatus } from '../../base/problem.js'
import { VERSION } from '../../base/version.js'
import { z } from '../fields/schema.js'
import { HARD_TO_GUESS } from '../idempotency/caller-key.js'
import { type Auth, defineRoutes, evidenceOf, type Route, route, type Version } from '../route.js'
import { errorsOf } from './errors.js'

type Json = Record<string, unknown>

/** The operation that returns the OpenAPI document. `list` returns the whole route table, including this operation. */
export const openapiRoutes = (list: () => readonly Route[]) =>
  defineRoutes('meta', {
    readOpenapi: route({
      summary: 'Read the OpenAPI 3.1 document, which describes every operation.',
      evidence: 'designed',
      scope: 'meta',
      method: 'GET',
      path: '/openapi.json',
      versions: ['v4'],
      auth: ['none'],
      shareable: true,
      result: z.record(z.string(), z.unknown()),
      handle: async (_call, { baseUrl }) => openapi(list(), baseUrl),
    }),
  })

/** The OpenAPI 3.1 document of a route table. `x-evidence` has the evidence grade of each operation. */
export function openapi(list: readonly Route[], baseUrl: string): Json {
  const paths: Record<string, Json> = {}
  for (const entry of list)
    for (const version of entry.versions ?? [undefined]) {
      const path = (version ? `/${version}${entry.path}` : entry.path).replace(/:(\w+)/g, '{$1}')
      const operations = (paths[path] ??= {})
      operations[entry.method.toLowerCase()] = operation(entry, version)
    }
  return {
    openapi: '3.1.0',
    info: { title: 'Micropayment service', version: VERSION, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: baseUrl }],
    paths,
    components: { securitySchemes, schemas: { Problem: problemSchema } },
  }
}

function operation(entry: Route, version: Version | undefined): Json {
  return {
    operationId: version === undefined || version === entry.versions?.[0] ? entry.id : `${entry.id}_${version}`,
    summary: entry.summary,
    tags: [entry.tag],
    'x-evidence': evidenceOf(entry, version),
    security: [...new Set(entry.auth.flatMap((kind) => securityOf[kind]))],
    parameters: [
      ...parameters(entry.params, 'path'),
      ...parameters(entry.query, 'query'),
      ...(entry.deviceToken ? [{ ...deviceToken, required: entry.deviceToken === 'required' }] : []),
      ...(entry.idempotent ? [idempotencyKey(entry)] : []),
    ],
    ...(entry.body && { requestBody: requestBody(entry.body, entry.bodyOptional ?? false) }),
    responses: {
      [String(entry.status ?? 200)]: success(entry),
      ...(entry.waits && { '202': accepted(entry.waits) }),
      ...(entry.relays && { default: { description: 'The answer of the upstream service.' } }),
      ...(entry.redirects && { '303': { description: 'A redirect to the page in Location.' } }),
      ...failures(entry),
    },
  }
}

const idempotencyKey = ({ auth, presented }: Route) => ({
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  description:
    'If you repeat a request with the same key and body within 24 hours, it changes nothing and gets the first answer.' +
    (auth.includes('none') && !presented
      ? ` Without credentials, keys shorter than ${HARD_TO_GUESS} characters are ignored, because others could guess them. Send a UUID.`
      : ''),
})

const deviceToken = {
  name: 'X-Device-Token',
  in: 'header',
  schema: { type: 'string' },
  description: 'The token that the device was registered with.',
}

function parameters(schema: z.ZodMiniObject | undefined, place: 'path' | 'query'): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = jsonSchema(schema) as { properties?: Json; required?: string[] } // Of an object.
  return Object.entries(properties).map(([name, shape]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: shape,
  }))
}

function requestBody(schema: z.ZodMiniObject, optional: boolean): Json {
  const content = { schema: jsonSchema(schema) }
  return {
    required: !optional,
    content: { 'application/json': content, 'application/x-www-form-urlencoded': content },
  }
}

function success(entry: Route): Json {
  const description = entry.summary
  if (!entry.result && !entry.produces) return { description }
  const media = entry.produces ?? ['application/json']
  const shape = (type: string) =>
    type === 'application/json' && entry.result ? { schema: jsonSchema(entry.result) } : { schema: { type: 'string' } }
  return { description, content: Object.fromEntries(media.map((type) => [type, shape(type)])) }
}

const accepted = (schema: z.ZodMiniType): Json => ({
  description: 'Not done yet. Wait for the named request, then repeat the call.',
  content: { 'application/json': { schema: jsonSchema(schema) } },
})

/** One response for each status, with its error codes. */
function failures(entry: Route): Json {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of errorsOf(entry)) {
    const status = problemStatus(code)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\`: ${problemSentence(code)}`).join('\n\n'),
        'x-codes': codes,
        content,
      },
    ]),
  )
}

function jsonSchema(schema: z.ZodMiniType): Json {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' }) as Json // A schema is a JSON object.
  return rest
}

const accessToken = { accessToken: [] }
const sessionHeader = { sessionHeader: [] }
const sessionCookie = { sessionCookie: [] }
const nothing = {}

const securityOf: Record<Auth, Json[]> = {
  none: [],
  account: [accessToken],
  user: [accessToken],
  agent: [{ agentToken: [] }],
  session: [sessionHeader, sessionCookie],
  page: [sessionHeader],
  guest: [sessionHeader, sessionCookie, nothing],
  embed: [nothing],
  client: [{ clientCredentials: [] }],
  refresh: [{ refreshToken: [] }],
}

const securitySchemes = {
  accessToken: { type: 'http', scheme: 'bearer', description: 'An access token.' },
  agentToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An OIDC access token.' },
  refreshToken: { type: 'http', scheme: 'bearer', description: 'A refresh token. Each works once.' },
  clientCredentials: { type: 'http', scheme: 'basic', description: 'client_id and client_secret.' },
  sessionHeader: { type: 'apiKey', in: 'header', name: 'X-Session-ID' },
  sessionCookie: { type: 'apiKey', in: 'cookie', name: 'session_id' },
}

const problemSchema = {
  type: 'object',
  required: ['error', 'status', 'code'],
  properties: {
    error: { type: 'string', description: 'One sentence: what is wrong and what to do.' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'A stable error code for programs.' },
  },
}
