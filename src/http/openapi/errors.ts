import { type Evidence, evidenceGrades, isWeaker } from '../../base/evidence.js'
import { fieldsOfCode, type ProblemCode, problemSentence, problemStatusIn } from '../../base/problem.js'
import { problemFields } from '../../base/problem-fields.js'
import type { z } from '../fields/schema.js'
import type { Route } from '../route.js'
import { errorsOf } from '../routing/errors.js'
import type { DocumentPart, Schemas } from './schemas.js'

const error = { type: 'string', description: 'One sentence: what is wrong and what to do.' }
const codeText = 'A stable error code for programs.'
const statusText = 'The HTTP status.'
const docs = {
  type: 'string',
  format: 'uri',
  'x-evidence': 'designed',
  description: 'The address of the page that explains the code.',
}

/** The shape that every error has (Micro Payment Service Interface, section 7). */
export const problemSchema = (least: Evidence): DocumentPart => ({
  type: 'object',
  description: 'An error.',
  required: ['error', 'status', ...(showsCode(least) ? ['code'] : [])],
  properties: {
    error,
    status: { type: 'integer', description: statusText },
    ...(showsCode(least) && { code: { type: 'string', 'x-evidence': 'designed', description: codeText }, docs }),
  },
})

const strictCodes: ReadonlySet<ProblemCode> = new Set(['account_not_granted', 'evidence_refused'])
const showsCode = (least: Evidence): boolean => !isWeaker('designed', least)

/** What an operation without refusals of its own may still answer. */
export const frameResponses: Record<string, DocumentPart> = {
  Malformed: {
    description: `farthing could not read the request: ${problemSentence('header_malformed')}`,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
  },
}

/** One response for each status that an operation may refuse with. All have the same component as their schema. */
export function refusals(route: Route, name: string, schemas: Schemas, least: Evidence): Record<string, DocumentPart> {
  const codes = errorsOf(route)
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of codes) {
    const status = problemStatusIn(least, code)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const schema = schemas.add(name, errorSchema(route, codes, least))
  const shown = showsCode(least)
  const shaped = (status: number) =>
    route.relays
      ? orRelayed(schemas, name, schema)
      : route.isJsonRpc && status === 400
        ? orMessage(schemas, name, schema)
        : schema
  const sentence = (code: ProblemCode) => (shown ? `\`${code}\`: ` : '') + problemSentence(code)
  const responses = Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      String(status),
      {
        description: ofStatus.map(sentence).join('\n\n'),
        ...(shown && { 'x-codes': ofStatus }),
        ...refusalHeaders(route, status, ofStatus),
        content: {
          'application/json': { schema: shaped(status) },
          // A credential of MPP is refused with it (RFC 9457).
          ...(ofStatus.includes('payment_required') && { 'application/problem+json': { schema } }),
          ...(route.relays && { '*/*': { schema: {} } }),
          ...(hasPage(route) && { 'text/html': { schema: { type: 'string' } } }),
        },
      },
    ]),
  )
  const isRefused = Object.keys(responses).some((status) => status.startsWith('4'))
  return isRefused ? responses : { ...responses, '400': { $ref: '#/components/responses/Malformed' } }
}

/** A component for the schema of an answer of the service, or whatever an upstream service answered with that status. */
export const orRelayed = (schemas: Schemas, name: string, schema: DocumentPart): DocumentPart => {
  const relayed = { description: 'The answer of the upstream service, if it has this status.' }
  return schemas.add(`${name}OrRelayed`, { anyOf: [schema, relayed], description: 'Of the service, or relayed.' })
}

/** A problem, or what an operation answers with the status 400 at which it refuses. */
function orMessage(schemas: Schemas, name: string, schema: DocumentPart): DocumentPart {
  const anyOf = [schema, { $ref: '#/components/schemas/JsonRpcMessage' }]
  return schemas.add(`${name}OrMessage`, { anyOf, description: 'An error, or that of JSON-RPC.' })
}

const hasPage = ({ refused, produces, auth }: Route): boolean =>
  refused?.isPage ?? (produces?.includes('text/html') && auth.includes('none')) ?? false

function errorSchema({ refused, repeatsErrorAsMessage }: Route, codes: readonly ProblemCode[], least: Evidence) {
  const oauthCode = refused?.oauthCode
  const statuses = [...new Set(codes.map((code) => problemStatusIn(least, code)))].sort((a, b) => a - b)
  const shown = showsCode(least)
  const extra = [...new Set(codes.flatMap((code) => fieldsOfCode(code)))]
  const shownCodes = shown ? codes : codes.filter((code) => strictCodes.has(code))
  const grade = shown && { 'x-evidence': 'designed' }
  const own: DocumentPart = {
    type: 'object',
    // Every problem has `error`: only what is declared here is required here.
    required: [
      ...(oauthCode ? ['error'] : []),
      'status',
      ...(shown ? ['code'] : []),
      ...(repeatsErrorAsMessage ? ['message'] : []),
      ...(oauthCode ? ['error_description', 'error_uri'] : shown ? ['docs'] : []),
    ],
    properties: {
      ...(oauthCode && {
        error: { type: 'string', enum: [...new Set(codes.map(oauthCode))], description: 'The error code of OAuth.' },
        error_description: { ...error, ...grade },
        error_uri: docs,
      }),
      ...(!oauthCode && shown && { docs }),
      ...(repeatsErrorAsMessage && { message: error }),
      status: { type: 'integer', enum: statuses, description: statusText },
      ...(shownCodes.length > 0 && { code: { type: 'string', enum: shownCodes, ...grade, description: codeText } }),
      ...Object.fromEntries(
        extra
          .filter((field) => shown || field === 'changed')
          .map((field) => [field, { ...problemFields[field], ...(field !== 'changed' && grade) }]),
      ),
    },
  }
  return { allOf: [{ $ref: '#/components/schemas/Problem' }, own], description: 'An error of this operation.' }
}

const text = { type: 'string' }

export const headerComponents: Record<string, DocumentPart> = {
  'X-Evidence': {
    description: 'The evidence grade of the operation.',
    schema: { type: 'string', enum: [...evidenceGrades] },
  },
  'X-Session-ID': {
    description: 'The session of the caller. Send it with the next request. It may be new.',
    schema: text,
  },
  'Idempotent-Replayed': {
    description: '`true` if this is the stored answer of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': {
    description: 'Which credentials the operation accepts, and where an agent finds its authorization server.',
    schema: text,
  },
  'X-Payment-ID': { description: 'The id of the payment.', schema: { type: 'integer' } },
  'X-Payment-Status': {
    description: 'Whether the payment was posted, or reversed because the upstream service failed.',
    schema: { type: 'string', enum: ['posted', 'reversed'] },
  },
  'PAYMENT-REQUIRED': { description: 'What the call costs, for x402 version 2: JSON in Base64.', schema: text },
  'PAYMENT-RESPONSE': { description: 'The receipt, for x402 version 2: JSON in Base64.', schema: text },
  'Payment-Receipt': { description: 'The receipt, for MPP: JSON in base64url.', schema: text },
  'X-PAYMENT-RESPONSE': { description: 'The receipt, for x402 version 1: JSON in Base64.', schema: text },
  Location: { description: 'The address of the next page.', schema: { type: 'string', format: 'uri-reference' } },
}

const waiting: ReadonlySet<ProblemCode> = new Set([
  ...(['idempotency_in_progress', 'checkout_paying', 'overloaded', 'not_ready', 'storage_unavailable'] as const),
])
const authenticating: ReadonlySet<ProblemCode> = new Set([
  ...(['authorization_missing', 'bearer_required', 'token_invalid', 'credentials_missing'] as const),
  ...(['agent_token_required', 'insufficient_scope', 'invalid_client'] as const),
])

/** Of an answer that is paid for. */
export const headersOfPayment = ({ errors }: Pick<Route, 'errors'>): string[] => [
  ...['X-Payment-ID', 'X-Payment-Status'],
  ...(errors?.includes('payment_required') ? ['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE', 'Payment-Receipt'] : []),
]

const refer = (names: readonly string[]): { headers: DocumentPart } => ({
  headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
})

/** The headers of an answer that succeeds. `more`: those that only this answer has. */
export const successHeaders = (route: Route, more: readonly string[] = []) =>
  refer([
    ...common(route),
    ...(startsSession(route) && !takesSession(route) ? ['X-Session-ID'] : []),
    ...replayed(route),
    ...more,
  ])

const refusalHeaders = (route: Route, status: number, codes: readonly ProblemCode[]) =>
  refer([
    ...common(route),
    ...replayed(route),
    ...(route.relays ? headersOfPayment(route) : []),
    ...(codes.includes('payment_required') ? ['PAYMENT-REQUIRED'] : []),
    ...(status === 429 || codes.some((code) => waiting.has(code)) ? ['Retry-After'] : []),
    ...(codes.some((code) => authenticating.has(code) || code === 'payment_required') ? ['WWW-Authenticate'] : []),
  ])

const common = (route: Route): string[] => ['X-Evidence', ...(takesSession(route) ? ['X-Session-ID'] : [])]
const takesSession = ({ auth }: Route): boolean => auth.some((kind) => ['session', 'guest', 'page'].includes(kind))

const startsSession = ({ result }: Route): boolean =>
  result !== undefined && 'shape' in result && 'session_id' in (result as z.ZodMiniObject).shape // Only objects have a shape.

/** A refusal that changed something is stored too. */
const replayed = ({ idempotent }: Route): string[] => (idempotent ? ['Idempotent-Replayed'] : [])
