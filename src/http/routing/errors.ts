import { type Evidence, isWeaker } from '../../base/evidence.js'
import type { ProblemCode } from '../../base/problem.js'
import { wrongCaller } from '../caller.js'
import { gradeOf } from '../fields/graded.js'
import { type Auth, evidenceOf, isGraded, type Route } from '../route.js'

const decoding: ProblemCode[] = ['body_malformed', 'body_too_large', 'content_type_refused']

const known = new WeakMap<Route, readonly ProblemCode[]>()

/** Every error code that a route may answer with: its own, and those of authentication, decoding and storage. */
export function errorsOf(route: Route): readonly ProblemCode[] {
  // The page of each error code asks it of every route.
  const codes = known.get(route) ?? listErrorsOf(route)
  known.set(route, codes)
  return codes
}

function listErrorsOf(route: Route): ProblemCode[] {
  const codes = new Set<ProblemCode>(route.errors)
  const add = (when: unknown, ...more: ProblemCode[]) => when && more.forEach((code) => codes.add(code))
  add(route.body || route.queryInBody || route.text, ...decoding)
  add(hasFields(route.body) || hasFields(route.query), 'field_invalid')
  add(route.refusesCardData, 'card_data_refused')
  add(route.params, 'path_malformed', 'not_found')
  for (const code of route.auth.flatMap(errorsOfAuth(route))) codes.add(code)
  // A session may be signed out before the first write of a handler that opens its own transactions.
  add(route.handle && route.auth.includes('guest'), 'sign_in_required')
  add(route.adds, 'too_many_new')
  add(route.scope === 'sandbox', 'no_such_path')
  add(route.scope === 'sandbox' && !route.isOpen, 'sandbox_refused')
  add(route.scope !== 'sandbox' && route.method !== 'GET', 'origin_refused')
  add(isGraded(route) && mayBeWeak(route), 'evidence_refused')
  add(route.idempotent, 'idempotency_key_invalid', 'idempotency_mismatch', 'idempotency_unreadable')
  add(route.idempotent && route.handle, 'idempotency_in_progress')
  codes
    .add(route.failure ?? 'internal_error')
    .add('not_loaded')
    .add('storage_unavailable')
  add(!route.scope || route.scope === 'service', 'overloaded')
  add(!route.read, 'outcome_unknown', 'storage_full')
  return [...codes]
}

const mayBeWeak = (route: Route): boolean =>
  weakest(route) !== 'documented' ||
  route.idempotent === true ||
  route.deviceToken !== undefined ||
  route.queryInBody === true ||
  route.weakParams !== undefined ||
  [route.query, route.body].some((schema) => schema && Object.values(schema.shape).some(gradeOf))

const weakest = (route: Route): Evidence =>
  (route.versions ?? [undefined])
    .map((version) => evidenceOf(route, version))
    .reduce((a, b) => (isWeaker(b, a) ? b : a))

const errorsOfAuth =
  ({ auth, method }: Route) =>
  (kind: Auth): ProblemCode[] => {
    switch (kind) {
      case 'none':
        return []
      case 'account':
      case 'user':
        return [...withoutAny(auth), 'bearer_required', 'token_invalid', ...otherKinds(auth)]
      case 'agent':
        return [...withoutAny(auth), 'bearer_required', 'token_invalid', 'insufficient_scope', ...otherThanAgents(auth)]
      case 'session':
        return [
          'authorization_missing',
          'sign_in_required',
          'session_conflict',
          // A token in place of a session is checked, although its kind is not accepted.
          'bearer_required',
          'token_invalid',
          ...otherKinds(auth),
          ...crossSite(method),
        ]
      case 'page':
        return ['page_refused']
      case 'guest':
        return ['session_conflict', ...crossSite(method)]
      case 'embed':
        return ['public_secret_unknown']
      case 'client':
      case 'refresh':
        return ['credentials_missing', 'scheme_refused', 'client_unknown', 'refresh_token_invalid']
    }
  }

/** The errors of a call without credentials. Guests may call without any. */
const withoutAny = (auth: readonly Auth[]): ProblemCode[] =>
  auth.includes('guest') || auth.includes('none') ? [] : ['authorization_missing']

/** The error for valid credentials of a kind that the route does not accept. */
const otherKinds = (auth: readonly Auth[]): ProblemCode[] => {
  if (auth.includes('none')) return []
  const takesAll = (['account', 'user', 'agent'] as const).every((kind) => auth.includes(kind))
  const takesSessions = auth.includes('session') || auth.includes('guest')
  return takesAll && (auth.includes('page') || !takesSessions) ? [] : [wrongCaller(auth)]
}

/** If only agents may call, other tokens do not authenticate (Micro Payment Service Interface, section 4.7). */
const otherThanAgents = (auth: readonly Auth[]): ProblemCode[] =>
  auth.every((kind) => kind === 'agent') ? ['agent_token_required'] : []

/** Only changes are refused. Reads ignore the cookie of a page of another origin. */
const crossSite = (method: Route['method']): ProblemCode[] => (method === 'GET' ? [] : ['cross_site'])

/** Nothing can be wrong about a schema without fields. */
const hasFields = (schema: Route['body']): boolean => schema !== undefined && Object.keys(schema.shape).length > 0
