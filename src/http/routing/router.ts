import { Router } from 'itty-router'
import { load } from '../../base/parts.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { pathOfUrl } from '../../base/text/url-path.js'
import { AnswerDropped } from '../around.js'
import { clientAddress, preflightHeaders } from '../caller.js'
import type { ServiceContext } from '../context.js'
import type { Endpoint, FetchSource, Incoming } from '../incoming.js'
import { isControlPath, isProbe } from '../probes/paths.js'
import { type RenderedAnswer, renderProblem, toResponse, unknownOutcome } from '../rendered-answer.js'
import { evidenceOf, isGraded, type Route, type Version } from '../route.js'
import { perform } from './perform.js'

/** Routes that load together. */
export interface RoutedFeature {
  /** The first parts of their paths, without the version: `payment` for `/v4/payment/:hash`. */
  readonly areas: readonly string[]
  /** Loads a module that exports nothing but routes. */
  load(): Promise<Readonly<Record<string, Readonly<Record<string, Route>>>>>
}

/** The compiled route table, which loads each feature with the first request to one of its areas. All services share one. */
export class RouteTable {
  readonly #features = new Map<string, RoutedFeature['load'][]>()
  readonly #opened = new Map<string, Promise<void>>()
  // Paths are tried one by one, so each constant start of a path has its own places.
  readonly #places = new Map<string, Place[]>()

  constructor(features: readonly Partial<RoutedFeature>[]) {
    for (const { areas = [], load } of features)
      for (const area of areas) if (load) this.#features.set(area, [...(this.#features.get(area) ?? []), load])
  }

  /** Loads the features of an area. Throws `not_loaded`; the next call tries again. */
  async #open(area: string): Promise<void> {
    const features = this.#features.get(area)
    if (!features) return
    let opened = this.#opened.get(area)
    if (!opened) {
      opened = this.#load(area, features).catch((error: unknown) => {
        this.#opened.delete(area)
        throw error
      })
      this.#opened.set(area, opened)
    }
    await opened
  }

  async #load(area: string, features: readonly RoutedFeature['load'][]): Promise<void> {
    const loaded = await load(() => Promise.all(features.map((feature) => feature())))
    for (const route of loaded.flatMap(Object.values<Readonly<Record<string, Route>>>).flatMap(Object.values<Route>))
      for (const version of route.versions ?? [undefined]) {
        const endpoint = endpointOf(route, version)
        if (areaOf(endpoint.path) === area) this.#add(endpoint)
      }
  }

  #add(endpoint: Endpoint): void {
    const { path, route } = endpoint
    const start = startOf(path.replace(/\/:.*/, ''))
    const places = this.#places.get(start) ?? []
    this.#places.set(start, places)
    places.push({ method: route.method, pattern: patternOf(path), endpoint })
  }

  #placesOf(path: string): readonly Place[] | undefined {
    return this.#places.get(startOf(path)) ?? this.#places.get(`/${path.split('/')[1]}`)
  }

  /** The operation that a request calls, if it is loaded. Sets the parameters of its path. */
  #find(incoming: Incoming): Endpoint | undefined {
    const { method, path, request } = incoming
    const isHead = request.method === 'HEAD'
    for (const place of this.#placesOf(path) ?? []) {
      const match = place.method === method && !(isHead && isActing(place)) ? place.pattern.exec(path) : null
      if (!match) continue
      if (match.groups) incoming.params = match.groups
      return place.endpoint
    }
    return undefined
  }

  /** Answers a request when the service is `ready`, also with errors. Rejects only with `AnswerDropped`. */
  async respond(request: Request, service: ServiceContext, source: FetchSource = {}, ready?: () => Promise<void>) {
    const incoming = incomingOf(request, service, source)
    const around = service.sandbox?.requests
    let outcome: RenderedAnswer
    try {
      const started = ready && (() => start(ready, incoming.path))
      const entering = around ? around.enter(incoming, service, started) : started?.()
      const answered = entering && (await entering)
      if (answered) return answered
      // After the start, which restores the clock.
      const recording = service.recorder?.beginRequest(incoming)
      incoming.recording = recording
      const endpoint = this.#find(incoming)
      outcome = await (endpoint ? perform(endpoint, incoming, service) : this.#route(incoming, service))
    } catch (error) {
      if (error instanceof AnswerDropped) {
        around?.leave(incoming, undefined)
        incoming.recording?.end(incoming, undefined)
        throw error
      }
      outcome = renderProblem(shownError(error, incoming), incoming, service)
    }
    if (around) outcome = around.leave(incoming, outcome)
    try {
      incoming.recording?.end(incoming, outcome)
      return toResponse(outcome, incoming, service)
    } catch (error) {
      // The change has happened, but its answer cannot be written.
      service.log.error('an answer could not be written', error)
      return toResponse(renderProblem(unknownOutcome(incoming, error), incoming, service), incoming, service)
    }
  }

  /** Loads the area of a path, and answers what calls no operation of it. */
  async #route(incoming: Incoming, service: ServiceContext): Promise<RenderedAnswer> {
    const { method, path, headers } = incoming
    await this.#open(areaOf(path))
    const endpoint = this.#find(incoming)
    if (endpoint) return perform(endpoint, incoming, service)
    const isAbsent = !service.sandbox && isControlPath(path)
    const allowed = isAbsent ? [] : this.#methodsAt(path)
    if (allowed.length === 0) throw problem('no_such_path', { detail: await this.#whereToCall(incoming, service) })
    if (method === 'OPTIONS') return { status: 204, headers: preflightHeaders(headers, allowed), body: null }
    throw problem('method_not_allowed', { headers: { allow: allowed.join(', ') } })
  }

  #methodsAt(path: string): string[] {
    const places = (this.#placesOf(path) ?? []).filter(({ pattern }) => pattern.test(path))
    const methods = places.map(({ method }): string => method)
    const isRead = places.some((place) => place.method === 'GET' && !isActing(place))
    const all = isRead ? [...methods, 'HEAD'] : methods
    return all.length === 0 ? [] : [...new Set([...all, 'OPTIONS'])]
  }

  /** What to do about an unknown path. If it ends in a known one, the base URL and the place of the service differ. */
  async #whereToCall({ path }: Incoming, { baseUrl }: ServiceContext): Promise<string> {
    const at = path.slice(2, LONGEST_MOUNT).search(/\/(?:v\d|_sandbox|\.well-known)\//) + 2
    const [prefix, rest] = at < 2 ? ['', ''] : [path.slice(0, at), path.slice(at)]
    await this.#open(areaOf(rest))
    if (this.#methodsAt(rest).length === 0) return `The base URL is ${baseUrl}.`
    const mounted = new URL(baseUrl).origin + prefix
    return `The path begins with ${prefix}, but the base URL is ${baseUrl}. Call ${baseUrl}${rest}, or create the service with \`baseUrl: '${mounted}'\`.`
  }
}

interface Place {
  readonly method: Route['method']
  readonly pattern: RegExp
  readonly endpoint: Endpoint
}

/** A relayed call acts on another service, and may pay for it. HEAD would throw its answer away. */
const isActing = ({ endpoint }: Place): boolean => endpoint.route.relays === true

/** The pattern of a path, as itty-router makes it. */
function patternOf(path: string): RegExp {
  const { routes } = Router().all(path)
  return required(routes[0], 'the route of a path')[1]
}

/** Where the known part of a path begins at the latest. */
const LONGEST_MOUNT = 200

/** Waits for the start. Probes ask how far it is. */
async function start(ready: () => Promise<void>, path: string): Promise<undefined> {
  const started = ready()
  if (!isProbe(path)) {
    await started
    return
  }
  // Whoever waits for it hears of its failure, and the next caller tries again.
  started.catch(() => {})
}

/** The URL contains the Host header, so an invalid Host makes an invalid URL. */
const shownError = (error: unknown, { url }: Incoming): unknown =>
  URL.canParse(url)
    ? error
    : problem('header_malformed', { detail: 'The invalid header is Host.', facts: { header: 'Host' }, cause: error })

function incomingOf(request: Request, { options }: ServiceContext, source: FetchSource): Incoming {
  const { method } = request
  const headers = source.headers ?? request.headers
  const sent = source.url ?? request.url
  const url = options.basePath === '' ? sent : belowBase(sent, options.basePath)
  const start = url.indexOf('/', url.indexOf('//') + 2)
  const path = pathOfUrl(url)
  return {
    method: method === 'HEAD' ? 'GET' : method,
    url,
    path,
    request,
    headers,
    source,
    clientAddress: source.peerAddress === undefined ? undefined : clientAddress(source, headers, options),
    params: {},
    query: start < 0 ? '' : url.slice(start + path.length).replace(/#.*/, ''),
    endpoint: undefined,
    session: undefined,
    issued: false,
    isWithheld: false,
    provenUser: undefined,
    isKeyed: false,
    leastEvidence: options.evidence,
    principal: undefined,
    recording: undefined,
    began: 0,
    ms: 0,
  }
}

const endpointOf = (route: Route, version: Version | undefined): Endpoint => ({
  route,
  version,
  path: version ? `/${version}${route.path}` : route.path,
  evidence: evidenceOf(route, version),
  name: version ? `${route.id} ${version}` : route.id,
  isGraded: isGraded(route),
  takesSession: route.auth.includes('session') || route.auth.includes('guest'),
  takesFormToken: route.body !== undefined && 'access_token' in route.body.shape,
})

/** The first part of a path after its version. */
const areaOf = (path: string): string => /^\/(?:v\d\/)?([^/]*)/.exec(path)?.[1] ?? ''

/** The first two parts of a path. */
function startOf(path: string): string {
  const second = path.indexOf('/', 1)
  if (second < 0) return path
  const third = path.indexOf('/', second + 1)
  return third < 0 ? path : path.slice(0, third)
}

/** The URL without the service's base path. A proxy may have removed it already. */
function belowBase(url: string, basePath: string): string {
  const path = pathOfUrl(url)
  if (path !== basePath && !path.startsWith(`${basePath}/`)) return url
  const start = url.indexOf(path, url.indexOf('//') + 2)
  return `${url.slice(0, start)}${path.length > basePath.length ? '' : '/'}${url.slice(start + basePath.length)}`
}
