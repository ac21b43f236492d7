import { isWeaker } from '../../base/evidence.js'
import { Problem, problem } from '../../base/problem.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { Caller } from '../caller.js'
import type { ServiceContext } from '../context.js'
import { checkFields, readFields, TextValue, textFields } from '../fields/body.js'
import { checkNoCardData } from '../fields/card-data.js'
import { callerKey } from '../idempotency/caller-key.js'
import { checkKey, type KeyedRequest } from '../idempotency/idempotency.js'
import { handleOnce, writeOnce } from '../idempotency/once.js'
import type { Endpoint, Incoming } from '../incoming.js'
import { type RenderedAnswer, render } from '../rendered-answer.js'
import { type Call, isGraded, type Route } from '../route.js'
import { guardChange, guardControls } from '../sandbox-guard.js'
import { storeNothing } from '../stored-answer.js'
import { forSameCaller } from './same-caller.js'

/** Decodes, authenticates, checks and handles a request, in one transaction unless the route has `handle`. */
export async function perform(
  endpoint: Endpoint,
  incoming: Incoming,
  service: ServiceContext,
): Promise<RenderedAnswer> {
  const { route } = endpoint
  permit(endpoint, incoming, service)
  const takesBody = route.body !== undefined || (route.queryInBody && incoming.source.body !== undefined)
  const body = takesBody ? await readFields(incoming, service.limits[route.bodyLimit ?? 'bodyBytes']) : NONE
  if (route.refusesCardData) checkNoCardData(Object.values(body).map(textOf))
  const fields = decode(route, incoming, body)
  const recall = (tx: Reader) => service.findCaller(tx, route.auth, sentBy(route, incoming, fields, service), service)
  const prepare = async (tx: Reader): Promise<Call> => {
    const caller = await recall(tx)
    remember(incoming, caller)
    return { ...check(endpoint, incoming, fields, caller), isAuthenticated: (later) => succeeds(recall(later)) }
  }
  if (route.read) {
    const { read } = route
    return render(endpoint, await service.storage.read(async (tx) => read(tx, await prepare(tx), service)), incoming)
  }
  const key = route.idempotent ? incoming.headers.get('idempotency-key') : null
  if (key !== null) checkKey(key)
  const keyed = (call: Call): KeyedRequest | undefined => {
    const caller = key === null ? undefined : callerKey(call, route, key)
    incoming.isKeyed = caller !== undefined
    if (key === null || caller === undefined) return undefined
    const stands = (tx: Writer, { status, body: stored }: RenderedAnswer) =>
      route.isStillValid && status < 300 && typeof stored === 'string'
        ? route.isStillValid(tx, call, JSON.parse(stored), service)
        : Promise.resolve(true)
    return { key, caller, method: incoming.method, path: pathTo(endpoint, call), fields: fields.body, stands }
  }
  const serviceFor = (call: Call) => forSameCaller(service, call.principal, recall)
  const run = { endpoint, incoming, service, serviceFor, prepare, keyed, isKeyed: key !== null }
  return route.handle ? handleOnce(run, route.handle) : writeOnce(run)
}

/** Whether an attempt succeeds. False if it rejects with a problem. Throws other errors. */
async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

/** The path of a call in its normal form: without a trailing slash, and percent-encoded. */
const pathTo = ({ path }: Endpoint, { params }: Call): string =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String((params as Record<string, unknown>)[name])))

function permit({ route, evidence }: Endpoint, incoming: Incoming, service: ServiceContext): void {
  if (isGraded(route) && isWeaker(evidence, service.evidence)) throw problem('evidence_refused')
  if (route.scope !== 'sandbox') return guardChange(incoming, service, { takesSession: takesSession(route) })
  if (!service.sandbox) throw problem('no_such_path')
  if (!route.isOpen) guardControls(incoming, service)
}

const takesSession = ({ auth }: Route): boolean => auth.includes('session') || auth.includes('guest')

interface Fields {
  readonly params: Record<string, unknown>
  readonly query: Record<string, unknown>
  readonly body: Record<string, unknown>
}

function decode(route: Route, incoming: Incoming, body: Fields['body']): Fields {
  const query = route.query ? queryFields(incoming.query) : NONE
  const params = route.params ? pathFields(incoming.params) : NONE
  return { params, query: route.queryInBody && body !== NONE ? { ...query, ...body } : query, body }
}

const NONE: Record<string, unknown> = Object.freeze({})

const queryFields = (query: Incoming['query']) =>
  textFields(Object.entries(query).flatMap(([name, values]) => [values].flat().map((value) => [name, value] as const)))

function pathFields(params: Incoming['params']): Fields['params'] {
  const fields: Record<string, TextValue> = {}
  for (const name in params) fields[name] = new TextValue(decodePart(params[name] ?? ''), false)
  return fields
}

function decodePart(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw problem('path_malformed', { cause })
  }
}

const sentBy = (
  { body: schema, isResource, agentScope = 'twin' }: Route,
  { method, url, path, headers }: Incoming,
  { query, body }: Fields,
  { baseUrl }: ServiceContext,
) => ({
  method,
  url,
  headers,
  publicSecret: textOf(body.public_secret ?? query.public_secret),
  formToken: schema && 'access_token' in schema.shape ? textOf(body.access_token) : undefined,
  resource: isResource ? baseUrl + path.replace(/\/+$/, '') : undefined,
  agentScope,
})

const textOf = (value: unknown): unknown => (value instanceof TextValue ? value.text : value)

/** Makes the answer repeat the caller's session. */
function remember(incoming: Incoming, { session }: Caller): void {
  if (!session) return
  incoming.session = session.id
  incoming.issued = session.issued
}

function check(
  { route, version }: Endpoint,
  incoming: Incoming,
  fields: Fields,
  caller: Caller,
): Omit<Call, 'isAuthenticated'> {
  return {
    params: route.params ? checkPath(route, fields.params) : {},
    query: route.query ? checkFields(route.query, fields.query) : {},
    body: route.body ? checkFields(route.body, fields.body) : {},
    principal: caller.principal,
    session: caller.session,
    version,
    headers: incoming.headers,
    url: incoming.url,
    ending: incoming.source.ending,
    storeAnswer: storeNothing,
  }
}

/** Checks path parameters. Throws `not_found`, because an invalid one cannot name anything. */
function checkPath(route: Route, params: Record<string, unknown>): Record<string, unknown> {
  try {
    return checkFields(route.params as NonNullable<Route['params']>, params)
  } catch (cause) {
    throw problem('not_found', { cause })
  }
}
