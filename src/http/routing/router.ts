import { Router, type RouterType } from 'itty-router'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../context.js'
import { preflightHeaders } from '../cors.js'
import type { Endpoint, FetchSource, Incoming } from '../incoming.js'
import { type RenderedAnswer, renderProblem, toResponse, unknownOutcome } from '../rendered-answer.js'
import { evidenceOf, type Route, type Version } from '../route.js'
import { guardCaller } from '../sandbox-guard.js'
import { perform } from './perform.js'

/** The compiled route table. All services share one. */
export class RouteTable {
  readonly endpoints: readonly Endpoint[]
  // itty-router tries routes one by one, so each constant start of a path has its own router.
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
      return perform(endpoint, incoming, service)
    })
  }

  /** Answers a request when the service is `ready`. Turns every thrown error into an answer. */
  async respond(
    request: Request,
    service: ServiceContext,
    source: FetchSource = {},
    ready?: () => Promise<void>,
  ): Promise<Response> {
    const { method } = request
    const url = belowBase(source.url ?? request.url, service.basePath)
    const incoming: Incoming = {
      method: method === 'HEAD' ? 'GET' : method,
      url,
      path: pathOf(url),
      request,
      headers: source.headers ?? request.headers,
      source,
      params: {},
      query: {},
      endpoint: undefined,
      session: undefined,
      issued: false,
      isKeyed: false,
    }
    let outcome: RenderedAnswer
    try {
      guardCaller(incoming, service)
      if (ready) await ready()
      outcome = await this.#route(incoming, service)
    } catch (error) {
      // The URL contains the Host header, so an invalid Host makes an invalid URL.
      const shown = URL.canParse(url)
        ? error
        : problem('header_malformed', { detail: 'The invalid header is Host.', cause: error })
      outcome = renderProblem(shown, incoming, service)
    }
    try {
      return toResponse(outcome, incoming, service)
    } catch (error) {
      // The change has happened, but its answer cannot be written.
      service.log.error('an answer could not be written', error)
      return toResponse(renderProblem(unknownOutcome(incoming, error), incoming, service), incoming, service)
    }
  }

  async #route(incoming: Incoming, service: ServiceContext): Promise<RenderedAnswer> {
    const { path } = incoming
    const router = this.#areas.get(areaOf(path)) ?? this.#areas.get(`/${path.split('/')[1]}`)
    // itty-router types neither its requests nor its answers.
    const outcome =
      incoming.method === 'OPTIONS' ? undefined : ((await router?.fetch(incoming as never, service)) as RenderedAnswer)
    if (outcome) return outcome
    const isAbsent = path.startsWith('/_sandbox/') && !service.sandbox
    const allowed = router && !isAbsent ? allowedMethods(router, path) : []
    if (allowed.length === 0) throw problem('no_such_path')
    if (incoming.method === 'OPTIONS')
      return { status: 204, headers: preflightHeaders(incoming.headers, allowed), body: null }
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

/** The URL without the service's base path. A proxy may have removed it already. */
function belowBase(url: string, basePath: string): string {
  if (basePath === '') return url
  const path = pathOf(url)
  if (path !== basePath && !path.startsWith(`${basePath}/`)) return url
  const start = url.indexOf(path, url.indexOf('//') + 2)
  return `${url.slice(0, start)}${path.length > basePath.length ? '' : '/'}${url.slice(start + basePath.length)}`
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
