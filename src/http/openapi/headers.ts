import { evidenceGrades } from '../../base/evidence.js'
import type { ProblemCode } from '../../base/problem.js'
import type { z } from '../fields/schema.js'
import type { Route } from '../route.js'
import type { DocumentPart } from './schemas.js'

const text = { type: 'string' }

/** Headers of answers, by the names of their components. */
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
  Location: { description: 'The address of the next page.', schema: { type: 'string', format: 'uri-reference' } },
}

const waiting: ReadonlySet<ProblemCode> = new Set([
  'idempotency_in_progress',
  'checkout_paying',
  'overloaded',
  'not_ready',
  'storage_unavailable',
])
const authenticating: ReadonlySet<ProblemCode> = new Set([
  'authorization_missing',
  'bearer_required',
  'token_invalid',
  'credentials_missing',
  'agent_token_required',
  'insufficient_scope',
  'invalid_client',
])

/** The headers of an answer after a payment. */
export const headersOfPayment = ['X-Payment-ID', 'X-Payment-Status']

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

/** The headers of a refusal with one of these codes. */
export const refusalHeaders = (route: Route, status: number, codes: readonly ProblemCode[]) =>
  refer([
    ...common(route),
    ...replayed(route),
    ...(route.relays ? headersOfPayment : []),
    ...(status === 429 || codes.some((code) => waiting.has(code)) ? ['Retry-After'] : []),
    ...(codes.some((code) => authenticating.has(code)) ? ['WWW-Authenticate'] : []),
  ])

const common = ({ auth }: Pick<Route, 'auth'>): string[] => [
  'X-Evidence',
  ...(takesSession({ auth }) ? ['X-Session-ID'] : []),
]

const takesSession = ({ auth }: Pick<Route, 'auth'>): boolean =>
  auth.some((kind) => kind === 'session' || kind === 'guest' || kind === 'page')

const startsSession = ({ result }: Route): boolean =>
  result !== undefined && 'shape' in result && 'session_id' in (result as z.ZodMiniObject).shape // Only objects have a shape.

/** A refusal that changed something is stored too. */
const replayed = ({ idempotent }: Route): string[] => (idempotent ? ['Idempotent-Replayed'] : [])
