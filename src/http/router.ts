import { Router, type RouterType } from 'itty-router'
import type { ServiceContext } from '../context.js'
import { type Evidence, isWeaker } from '../evidence.js'
import { Problem, type ProblemCode, problem } from '../problem.js'
import type { Reader } from '../storage/storage.js'
import { type BodySource, checkFields, readFields, stringFields } from './body.js'
import { corsHeaders, preflightHeaders } from './cors.js'
import { checkKey, type Outcome, oncePerKey } from './idempotency.js'
import { guardSandbox, sessionCookieHeader } from './origin.js'
import { authenticate, type Caller } from './principal.js'
import { Reply } from './reply.js'
import { type Call, evidenceOf, type Route, type Version } from './route.js'

/** A route under one of its version prefixes. */
export interface Endpoint {
  readonly route: Route
  readonly version: Version | undefined
  readonly path: string
  readonly evidence: Evidence
}

/** What a runtime tells of a request beside the request itself. */
export interface FetchSource extends BodySource {
  /** Of the connection's other end, where there is a connection. */
  readonly peerAddress?: string
  /** The class that answers are made of; the global one where absent. */
  readonly Response?: typeof Response
}

/** What travels through itty-router: it sets `params` and `query` on it. */
interface Incoming {
  readonly method: string
  readonly url: string
  readonly request: Request
  readonly source: FetchSource
  params: Record<string, string>
  query: Record<string, string | string[]>
  endpoint?: Endpoint
  session?: string | null
  issued?: boolean
}

/** The compiled table: made once per module and shared by every service. */
export class RouteTable {
  readonly endpoints: readonly Endpoint[]
  // itty-router matches linearly, so each constant beginning of a path has a router of its own.
  readonly #areas = new Map<string, RouterType>()

  constructor(routes: readonly Route[]) {
    this.endpoints = routes.flatMap((route) =>
      route.versions ? route.versions.map((version) => endpointOf(route, version)) : [endpointOf(route, undefined)],
    )
    for (const endpoint of this.endpoints) this.#add(endpoint)
  }

  #add(endpoint: Endpoint): void {
    const area = areaOf(endpoint.path.replace(/\/:.*/, ''))
    let router = this.#areas.get(area)
    if (!router) this.#areas.set(area, (router = Router()))
    const register = router[endpoint.route.method.toLowerCase()] as (path: string, handler: unknown) => void
    register(endpoint.path, (incoming: Incoming, service: ServiceContext) => {
      incoming.endpoint = endpoint
      return run(endpoint, incoming, service)
    })
  }

  /** Answers a request: the one place where problems are caught and responses are made. */
  async respond(request: Request, service: ServiceContext, source: FetchSource = {}): Promise<Response> {
    const method = request.method
    const incoming: Incoming = {
      method: method === 'HEAD' ? 'GET' : method,
      url: request.url,
      request,
      source,
      params: {},
      query: {},
    }
    let outcome: Outcome
    try {
      outcome = await this.#route(incoming, service)
    } catch (error) {
      outcome = refusal(error, incoming.endpoint?.route.failure, service)
    }
    return respondWith(outcome, incoming, service)
  }

  async #route(incoming: Incoming, service: ServiceContext): Promise<Outcome> {
    const path = pathOf(incoming.url)
    const router = this.#areas.get(areaOf(path)) ?? this.#areas.get(`/${path.split('/')[1]}`)
    const outcome =
      incoming.method === 'OPTIONS' ? undefined : ((await router?.fetch(incoming as never, service)) as Outcome)
    if (outcome) return outcome
    const allowed = router ? allowedMethods(router, path) : []
    if (allowed.length === 0) throw problem('no_such_path')
    if (incoming.method === 'OPTIONS')
      return { status: 204, headers: preflightHeaders(incoming.request.headers, allowed), body: null }
    throw problem('method_not_allowed', { headers: { allow: allowed.join(', ') } })
  }
}

const endpointOf = (route: Route, version: Version | undefined): Endpoint => ({
  route,
  version,
  path: version ? `/${version}${route.path}` : route.path,
  evidence: evidenceOf(route, version),
})

/** The first two parts of a path. */
function areaOf(path: string): string {
  const second = path.indexOf('/', 1)
  if (second < 0) return path
  const third = path.indexOf('/', second + 1)
  return third < 0 ? path : path.slice(0, third)
}

function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  if (start < 0) return '/'
  const end = url.slice(start).search(/[?#]/)
  return end < 0 ? url.slice(start) : url.slice(start, start + end)
}

function allowedMethods(router: RouterType, path: string): string[] {
  const methods = router.routes.filter(([, pattern]) => pattern.test(path)).map(([method]) => method)
  const all = methods.includes('GET') ? [...methods, 'HEAD'] : methods
  return all.length === 0 ? [] : [...new Set([...all, 'OPTIONS'])]
}

/** Decodes, authenticates, checks and handles: in one transaction where the route is one. */
async function run(endpoint: Endpoint, incoming: Incoming, service: ServiceContext): Promise<Outcome> {
  const { route } = endpoint
  permit(endpoint, incoming, service)
  const fields = await decode(route, incoming, service)
  const prepare = async (tx: Reader): Promise<Call> => {
    const caller = await authenticate(tx, route.auth, sentBy(incoming, fields), service)
    remember(incoming, caller)
    return check(endpoint, incoming, fields, caller)
  }
  if (route.read) {
    const { read } = route
    return render(endpoint, await service.storage.read(async (tx) => read(tx, await prepare(tx), service)), incoming)
  }
  if (route.handle) return render(endpoint, await route.handle(await service.storage.read(prepare), service), incoming)
  return write(endpoint, incoming, service, fields, prepare)
}

async function write(
  endpoint: Endpoint,
  incoming: Incoming,
  service: ServiceContext,
  fields: Fields,
  prepare: (tx: Reader) => Promise<Call>,
): Promise<Outcome> {
  const { route } = endpoint
  const key = route.idempotent ? incoming.request.headers.get('idempotency-key') : null
  if (key !== null) checkKey(key)
  return service.storage.write(async (tx) => {
    const call = await prepare(tx)
    if (key === null) {
      const handled = await route.write?.(tx, call, service)
      // A problem that is returned, not thrown, keeps what was written.
      return handled instanceof Problem ? refusal(handled, undefined, service) : render(endpoint, handled, incoming)
    }
    const request = {
      key,
      caller: callerKey(call),
      method: incoming.method,
      path: pathOf(incoming.url),
      fields: fields.body,
    }
    return oncePerKey(
      tx,
      request,
      service,
      async (part) => render(endpoint, await route.write?.(part, call, service), incoming),
      (refused) => refusal(refused, undefined, service),
    )
  })
}

function permit({ route, evidence }: Endpoint, incoming: Incoming, service: ServiceContext): void {
  const scope = route.scope ?? 'service'
  if (scope === 'service' && isWeaker(evidence, service.evidence)) throw problem('evidence_refused')
  if (scope !== 'sandbox') return
  if (!service.sandbox) throw problem('no_such_path')
  guardSandbox({ ...incoming, headers: incoming.request.headers }, service.baseUrl, incoming.source.peerAddress)
}

interface Fields {
  readonly params: Record<string, unknown>
  readonly query: Record<string, unknown>
  readonly body: Record<string, unknown>
}

async function decode(route: Route, incoming: Incoming, service: ServiceContext): Promise<Fields> {
  const takesBody = route.body !== undefined || (route.queryInBody && hasBody(incoming))
  const body = takesBody ? await readFields(incoming.request, service.limits.bodyBytes, incoming.source) : {}
  const query = stringFields(Object.entries(incoming.query).flatMap(([name, value]) => pairs(name, value)))
  const params = stringFields(Object.entries(incoming.params).map(([name, value]) => [name, decodePart(value)]))
  return { params, query: route.queryInBody ? { ...query, ...body } : query, body }
}

const pairs = (name: string, value: string | string[]): [string, string][] =>
  Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]

const hasBody = ({ source, request }: Incoming): boolean => source.body !== undefined || request.body !== null

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw problem('path_malformed', { cause })
  }
}

const sentBy = ({ method, url, request }: Incoming, { query, body }: Fields) => ({
  method,
  url,
  headers: request.headers,
  publicSecret: body.public_secret ?? textOf(query.public_secret),
})

const textOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'text' in value ? value.text : value

/** The session that the answer repeats. */
function remember(incoming: Incoming, { session }: Caller): void {
  if (!session) return
  incoming.session = session.id
  incoming.issued = session.issued
}

function check({ route, version }: Endpoint, incoming: Incoming, fields: Fields, caller: Caller): Call {
  return {
    params: route.params ? checkPath(route, fields.params) : {},
    query: route.query ? checkFields(route.query, fields.query) : {},
    body: route.body ? checkFields(route.body, fields.body) : {},
    ...caller,
    version,
    headers: incoming.request.headers,
    url: incoming.url,
  }
}

/** A path that cannot name anything names nothing. */
function checkPath(route: Route, params: Record<string, unknown>): Record<string, unknown> {
  try {
    return checkFields(route.params as NonNullable<Route['params']>, params)
  } catch (cause) {
    throw problem('not_found', { cause })
  }
}

function callerKey({ principal, session }: Call): string {
  return 'owner' in principal ? principal.owner : (session?.id ?? principal.kind)
}

/** A handler's value as an answer. */
function render({ route, version }: Endpoint, handled: unknown, incoming: Incoming): Outcome {
  const own = handled instanceof Reply ? handled : undefined
  if (own?.session !== undefined) {
    incoming.session = own.session
    incoming.issued = true
  }
  const present = version && route.present?.[version]
  const value = own ? own.value : handled
  const shown = present ? present(value as never) : value
  const body = own?.body === undefined ? JSON.stringify(shown) : own.body
  const status = own?.status ?? route.status ?? 200
  const headers: Record<string, string> = {
    'cache-control': route.shareable ? 'no-cache' : 'private, no-store',
    ...(body !== null && { 'content-type': 'application/json' }),
    ...own?.headers,
  }
  return { status, headers, body }
}

/** A problem as an answer; anything else is a defect or a broken port: logged, and shown as a bare 500. */
function refusal(error: unknown, failure: ProblemCode | undefined, { log }: ServiceContext): Outcome {
  if (!(error instanceof Problem)) log.error('a request failed', error)
  const refused = error instanceof Problem ? error : problem(failure ?? 'internal_error')
  return {
    status: refused.status,
    headers: { 'content-type': 'application/json', 'cache-control': 'private, no-store', ...refused.headers },
    body: JSON.stringify(refused.body),
  }
}

function respondWith(outcome: Outcome, incoming: Incoming, service: ServiceContext): Response {
  const { request, source, endpoint, session } = incoming
  const headers: Record<string, string> = {
    ...corsHeaders(request.headers),
    'x-content-type-options': 'nosniff',
    ...outcome.headers,
  }
  if (endpoint) headers['x-evidence'] = endpoint.evidence
  if (session) headers['x-session-id'] = session
  if (session !== undefined && incoming.issued) headers['set-cookie'] = sessionCookieHeader(session, service.baseUrl)
  const body = request.method === 'HEAD' ? null : outcome.body
  const ResponseClass = source.Response ?? Response
  return new ResponseClass(body, { status: outcome.status, headers })
}
