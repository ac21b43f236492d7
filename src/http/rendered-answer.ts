import type { OwnBytes } from '../base/ports.js'
import { Problem, problem, problemStatusIn } from '../base/problem.js'
import { newProvenDevice, provenDevice } from '../base/proven-device.js'
import { OutcomeUnknown, StorageUnavailable } from '../storage/storage.js'
import { SchemaNewer } from '../storage/tables/migration.js'
import { storageUnavailable } from '../storage/unavailable.js'
import {
  deviceCookieHeader,
  isForeign,
  presentedDevice,
  repeatedSession,
  sessionCookieHeader,
  setCorsHeaders,
} from './caller.js'
import type { ServiceContext } from './context.js'
import { withoutWeak } from './fields/graded.js'
import type { Endpoint, Incoming } from './incoming.js'
import { Reply, textStream } from './reply.js'
import type { Route } from './route.js'

type AnsweringService = Pick<ServiceContext, 'baseUrl' | 'sandbox' | 'clock' | 'keys' | 'random'>

/** An answer that is ready to send. */
export interface RenderedAnswer {
  readonly status: number
  /** Nobody changes them. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | OwnBytes | ReadableStream<Uint8Array> | null
  /** What decided, if it is a refusal. Only the journal takes it. */
  readonly facts?: Readonly<Record<string, unknown>>
}

/** Renders a handler's value as an answer. */
export function render({ route }: Endpoint, handled: unknown, incoming: Incoming): RenderedAnswer {
  if (handled instanceof Reply && handled.session !== undefined) {
    incoming.session = handled.session
    incoming.issued = true
  }
  const own = handled instanceof Reply ? handled : undefined
  const status = own?.status ?? route.status ?? 200
  const schema = status === 202 && route.waits ? route.waits : route.result
  const { leastEvidence } = incoming
  const isAll = leastEvidence === 'designed' || !schema
  /** The fields that the caller's evidence mode shows. */
  const show = (value: unknown) => (isAll ? value : withoutWeak(schema, value, leastEvidence))
  if (!own) {
    const body = JSON.stringify(isAll ? handled : show(handled))
    return { status, headers: route.shareable ? SHAREABLE : PRIVATE, body }
  }
  const body = own.text
    ? textStream(own.text(show))
    : own.body === undefined
      ? JSON.stringify(show(own.value))
      : own.body
  const { 'cache-control': cacheControl } = route.shareable ? SHAREABLE : PRIVATE
  const headers: Record<string, string> = { 'cache-control': cacheControl }
  if (body !== null) headers['content-type'] = 'application/json'
  return { status, headers: Object.assign(headers, own.headers), body }
}

// The journal keeps the headers of each answer, so those of most are the same object.
const PRIVATE = Object.freeze({ 'cache-control': 'private, no-store', 'content-type': 'application/json' })
const SHAREABLE = Object.freeze({ 'cache-control': 'no-cache', 'content-type': 'application/json' })

/** The problem `outcome_unknown`. `provisional`: the answer that the call stored before it failed. */
export function unknownOutcome({ isKeyed }: Pick<Incoming, 'isKeyed'>, cause: unknown, provisional?: unknown): Problem {
  const detail = isKeyed
    ? 'Retry with the same Idempotency-Key. Nothing happens twice.'
    : 'You sent no Idempotency-Key. Before you retry, check GET /v4/events to see whether the request succeeded.'
  const { fields = {}, headers: known = {} } = provisional instanceof Problem ? provisional : {}
  return problem('outcome_unknown', { detail, fields, headers: known, cause })
}

/** The problem for a failure whose transaction was undone, so nothing changed. */
const failureOf = (error: unknown, route: Endpoint['route'] | undefined): Problem =>
  error instanceof SchemaNewer
    ? problem('storage_unavailable', { detail: error.message, fields: { schema: error.schema }, cause: error })
    : error instanceof StorageUnavailable
      ? storageUnavailable(error)
      : problem(route?.failure ?? 'internal_error', { cause: error })

/** Renders a problem as an answer. Any other error is logged, and the answer hides its cause. */
export function renderProblem(
  error: unknown,
  incoming: Pick<Incoming, 'endpoint' | 'headers' | 'isKeyed' | 'leastEvidence'>,
  { log, baseUrl }: Pick<ServiceContext, 'log' | 'baseUrl'>,
): RenderedAnswer {
  const { endpoint, headers } = incoming
  const route = endpoint?.route
  if (!(error instanceof Problem)) log.error('a request failed', error)
  else if (error.code === 'not_loaded') log.error('a part of the service could not be loaded', error.cause)
  const isUnknown = error instanceof OutcomeUnknown
  const refused =
    error instanceof Problem ? error : isUnknown ? unknownOutcome(incoming, error) : failureOf(error, route)
  const plain = (problem: Problem) => shownProblem(problem, incoming, baseUrl)
  const shown = route?.refused?.(refused, headers, { baseUrl, shown: plain })
  return {
    status: shown?.status ?? problemStatusIn(incoming.leastEvidence, refused.code),
    headers: {
      'content-type': 'application/json',
      'cache-control': 'private, no-store',
      ...refused.headers,
      ...shown?.headers,
    },
    body: shown?.body ?? JSON.stringify(shown ? shown.value : { ...plain(refused), ...messageOf(refused, route) }),
    facts: { ...refused.fields, ...refused.facts },
  }
}

/**
 * The body of a refusal. The Micro Payment Service Interface shows `error` and `status` (section 7), the code
 * `account_not_granted` and the field `changed` (section 4.7). All else is our own design. The refusal of a strict mode
 * itself has its code in every mode.
 */
function shownProblem(refused: Problem, { leastEvidence }: Pick<Incoming, 'leastEvidence'>, baseUrl: string): object {
  if (leastEvidence === 'designed') return refused.bodyAt({ baseUrl })
  const { message: error, code, fields } = refused
  return {
    ...(fields.changed !== undefined && { changed: fields.changed }),
    error,
    status: problemStatusIn(leastEvidence, code),
    ...((code === 'account_not_granted' || code === 'evidence_refused') && { code }),
  }
}

const messageOf = ({ message }: Problem, route: Route | undefined): { message?: string } =>
  route?.repeatsErrorAsMessage ? { message } : {}

/** Creates the `Response`, with the headers that every answer has. Every answer passes here. */
export function toResponse(outcome: RenderedAnswer, incoming: Incoming, service: AnsweringService): Response {
  const { baseUrl } = service
  const { source, endpoint } = incoming
  const own = incoming.isWithheld && outcome.status >= 400 ? undefined : incoming.session
  const isUnknown = own === undefined && endpoint?.takesSession && incoming.headers.get('authorization') === null
  const session = isUnknown
    ? repeatedSession({ ...incoming, takesBareCookie: endpoint.route.takesBareCookie }, baseUrl)
    : own
  const headers = { ...outcome.headers }
  setCorsHeaders(headers, incoming, service)
  headers['x-content-type-options'] = 'nosniff'
  if (endpoint) headers['x-evidence'] = endpoint.evidence
  if (session) headers['x-session-id'] = session
  const id = incoming.recording?.id
  if (id) headers['x-request-id'] = id
  // A page of another origin must not set the cookie, or it could sign its visitor in as someone else.
  if (session !== undefined && incoming.issued && !isForeign(incoming, baseUrl))
    headers['set-cookie'] = sessionCookieHeader(session, baseUrl)
  else if (incoming.provenUser !== undefined) setDeviceCookie(headers, incoming, service)
  const body = incoming.request.method === 'HEAD' ? dropBody(outcome.body) : abortable(outcome.body, source.signal)
  const ResponseClass = source.Response ?? Response
  return new ResponseClass(body, { status: outcome.status, headers })
}

/**
 * Remembers that a user signed in by a code in this browser, so that it has a limit of its own for their codes. One answer
 * sets one cookie, because not every runtime takes more: this one comes with the first answer after the sign-in.
 */
function setDeviceCookie(
  headers: Record<string, string>,
  incoming: Incoming,
  { baseUrl, clock, ...service }: AnsweringService,
): void {
  const { provenUser: userId, endpoint, leastEvidence } = incoming
  // A strict mode sets no cookie but the documented one, and a cache would hand this one to others.
  if (userId === undefined || leastEvidence !== 'designed' || endpoint?.route.shareable) return
  const [device, user] = [presentedDevice(incoming, baseUrl), { userId, at: clock.now() }]
  if (provenDevice(device, user, service.keys) !== undefined) return
  headers['set-cookie'] = deviceCookieHeader(newProvenDevice(device, user, service), baseUrl)
}

const abortable = (body: RenderedAnswer['body'], signal: AbortSignal | undefined): RenderedAnswer['body'] =>
  signal && body instanceof ReadableStream ? body.pipeThrough(new TransformStream(), { signal }) : body

function dropBody(body: RenderedAnswer['body']): null {
  if (body instanceof ReadableStream) void body.cancel()
  return null
}
