import { Problem, problem } from '../base/problem.js'
import { OutcomeUnknown, StorageUnavailable } from '../storage/storage.js'
import { repeatedSession } from './caller.js'
import type { ServiceContext } from './context.js'
import { setCorsHeaders } from './cors.js'
import type { Endpoint, Incoming } from './incoming.js'
import { isForeign, sessionCookieHeader } from './origin.js'
import { Reply } from './reply.js'

/** An answer that is ready to send. */
export interface RenderedAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
}

/** Renders a handler's value as an answer. */
export function render({ route }: Endpoint, handled: unknown, incoming: Incoming): RenderedAnswer {
  if (handled instanceof Reply && handled.session !== undefined) {
    incoming.session = handled.session
    incoming.issued = true
  }
  const own = handled instanceof Reply ? handled : undefined
  const body = own?.body === undefined ? JSON.stringify(own ? own.value : handled) : own.body
  const headers: Record<string, string> = { 'cache-control': route.shareable ? 'no-cache' : 'private, no-store' }
  if (body !== null) headers['content-type'] = 'application/json'
  if (own) Object.assign(headers, own.headers)
  return { status: own?.status ?? route.status ?? 200, headers, body }
}

/**
 * The problem `outcome_unknown`: something may have changed, and the answer is lost. `provisional` is the answer that
 * the call stored before it failed.
 */
export function unknownOutcome({ isKeyed }: Pick<Incoming, 'isKeyed'>, cause: unknown, provisional?: unknown): Problem {
  const detail = isKeyed
    ? 'Retry with the same Idempotency-Key. Nothing happens twice.'
    : 'You sent no Idempotency-Key. Before you retry, check GET /v4/events to see whether the request succeeded.'
  const { fields = {}, headers: known = {} } = provisional instanceof Problem ? provisional : {}
  return problem('outcome_unknown', { detail, fields, headers: known, cause })
}

/** The problem for a failure whose transaction was undone, so nothing changed. */
const failureOf = (error: unknown, route: Endpoint['route'] | undefined): Problem =>
  problem(error instanceof StorageUnavailable ? 'storage_unavailable' : (route?.failure ?? 'internal_error'), {
    cause: error,
  })

/**
 * Renders a problem as an answer. Any other error is a defect or a broken port: it is logged, and the answer hides
 * its cause.
 */
export function renderProblem(
  error: unknown,
  incoming: Pick<Incoming, 'endpoint' | 'headers' | 'isKeyed'>,
  { log }: Pick<ServiceContext, 'log'>,
): RenderedAnswer {
  const { endpoint, headers } = incoming
  const route = endpoint?.route
  if (!(error instanceof Problem)) log.error('a request failed', error)
  const isUnknown = error instanceof OutcomeUnknown
  const refused =
    error instanceof Problem ? error : isUnknown ? unknownOutcome(incoming, error) : failureOf(error, route)
  const shown = route?.refused?.(refused, headers)
  return {
    status: shown?.status ?? refused.status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'private, no-store',
      ...refused.headers,
      ...shown?.headers,
    },
    body: shown?.body ?? JSON.stringify(shown ? shown.value : refused.body),
  }
}

/** Creates the `Response`, with the headers that every answer has. Every answer passes here. */
export function toResponse(
  outcome: RenderedAnswer,
  incoming: Incoming,
  service: Pick<ServiceContext, 'baseUrl' | 'sandbox'>,
): Response {
  const { baseUrl } = service
  const { source, endpoint } = incoming
  const session = incoming.session === undefined ? repeatedSession(incoming, baseUrl) : incoming.session
  const { headers } = outcome
  setCorsHeaders(headers, incoming, service)
  headers['x-content-type-options'] = 'nosniff'
  if (endpoint) headers['x-evidence'] = endpoint.evidence
  if (session) headers['x-session-id'] = session
  // A page of another origin must not set the cookie, or it could sign its visitor in as somebody else.
  if (session !== undefined && incoming.issued && !isForeign(incoming, baseUrl))
    headers['set-cookie'] = sessionCookieHeader(session, baseUrl)
  const body = incoming.request.method === 'HEAD' ? dropBody(outcome.body) : outcome.body
  const ResponseClass = source.Response ?? Response
  return new ResponseClass(body, { status: outcome.status, headers })
}

function dropBody(body: RenderedAnswer['body']): null {
  if (body instanceof ReadableStream) void body.cancel()
  return null
}
