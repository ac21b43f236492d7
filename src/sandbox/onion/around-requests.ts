import { milliseconds } from '../../base/ports.js'
import { Problem } from '../../base/problem.js'
import type { AroundRequests, DecodedRequest } from '../../http/around.js'
import { type Caller, principalName } from '../../http/caller.js'
import type { ServiceContext } from '../../http/context.js'
import type { Endpoint, Incoming } from '../../http/incoming.js'
import type { RenderedAnswer } from '../../http/rendered-answer.js'
import type { SandboxParts } from './context.js'
import { FAULT_HEADER, type Faults } from './fault.js'
import { type GuardedService, guardCaller, guardChange, guardControls, mayRead } from './guard.js'

/** Guards the requests of a sandbox, passes those of forks on, counts and measures them, and makes its faults happen. */
export class SandboxRequests implements AroundRequests {
  readonly #guarded: GuardedService
  readonly #find: () => SandboxParts
  #sandbox: SandboxParts | undefined
  #service: ServiceContext | undefined

  /** `find`: the sandbox, as soon as it is there. */
  constructor(guarded: GuardedService, find: () => SandboxParts) {
    this.#guarded = guarded
    this.#find = find
  }

  enter(
    incoming: Incoming,
    service: ServiceContext,
    started: (() => Promise<void>) | undefined,
  ): Promise<Response | undefined> | undefined {
    this.#sandbox ??= this.#find()
    this.#service = service
    incoming.began ||= milliseconds()
    if (incoming.source.peerAddress !== undefined) {
      this.#sandbox.isServed = true
      guardCaller(incoming, this.#guarded)
    }
    if (started) return started().then(() => this.enter(incoming, service, undefined))
    const fork = incoming.path.startsWith('/_sandbox/') ? this.#sandbox.forks.find(incoming.path) : undefined
    if (fork !== undefined) return this.#passOn(fork, incoming, service.options)
    // The order of entries must not depend on how fast the work of earlier ones is.
    const isStopped = this.#sandbox.clock.mode === 'manual'
    return isStopped && service.recorder ? service.background.settling()?.then(() => undefined) : undefined
  }

  async #passOn(fork: string, incoming: Incoming, { basePath }: ServiceContext['options']): Promise<Response> {
    const { url, request, source } = incoming
    if (request.method !== 'OPTIONS') guardControls(incoming, this.#guarded)
    const { forks } = (this.#sandbox ??= this.#find())
    return forks.respond(fork, request, { ...source, url: withBase(url, basePath) })
  }

  reach({ name }: Endpoint): void {
    const { calls } = (this.#sandbox ??= this.#find())
    calls.set(name, (calls.get(name) ?? 0) + 1)
  }

  guard({ route, takesSession }: Endpoint, incoming: Incoming): void {
    if (route.scope !== 'sandbox') {
      if (incoming.source.peerAddress !== undefined) guardChange(incoming, this.#guarded, { takesSession })
    } else if (!route.isOpen) guardControls(incoming, this.#guarded)
  }

  run<R extends DecodedRequest>(request: R, run: (request: R) => Promise<RenderedAnswer>): Promise<RenderedAnswer> {
    const { faults } = (this.#sandbox ??= this.#find())
    const { endpoint, incoming } = request
    const isFaulty = faults.engine !== undefined || incoming.headers.has(FAULT_HEADER)
    return isFaulty && endpoint.route.scope !== 'sandbox'
      ? this.#runWithFaults(request, faults, () => run(request))
      : run(request)
  }

  /** Throws `sandbox_refused` if a caller who may not use the controls sends a fault of their own, and `AnswerDropped`. */
  async #runWithFaults(request: DecodedRequest, faults: Faults, run: () => Promise<RenderedAnswer>) {
    const { endpoint, incoming } = request
    const header = incoming.headers.get(FAULT_HEADER)
    if (header !== null) guardControls(incoming, this.#guarded)
    const engine = faults.engine ?? (await faults.load())
    const { method, path } = incoming
    let last: string | undefined
    try {
      return await engine.perform({
        ...{ operationId: endpoint.route.id, method, path, header },
        takesBody: incoming.request.method !== 'HEAD',
        principal: () => nameOfCaller(incoming, () => request.findCaller()),
        run,
        fields: request.body,
        ...{ paysFor: paidBy(incoming), service: this.#service },
        note(faultId, { isLost }) {
          last = faultId
          if (!isLost) return
          incoming.session = undefined
          incoming.issued = false
        },
      })
    } finally {
      // After those of ports: what happened to the request itself counts.
      if (last !== undefined) incoming.recording?.noteFault(last)
    }
  }

  leave<A extends RenderedAnswer | undefined>(incoming: Incoming, answer: A): A {
    incoming.ms = milliseconds() - incoming.began
    return this.#sandbox?.measurements?.count(incoming, answer) ?? answer
  }

  mayRead(origin: string, incoming: Incoming): boolean {
    return mayRead(origin, incoming, this.#guarded)
  }
}

/** What a request pays for. An item's call pays for it if it carries a payment. */
function paidBy({ method, path, headers }: Pick<Incoming, 'method' | 'path' | 'headers'>): string | number | undefined {
  const [, hash] = (method === 'POST' && PAYMENT.exec(path)) || []
  if (hash !== undefined) return hash
  const [, item] = ITEM_CALL.exec(path) ?? []
  return item !== undefined && carriesPayment(headers) ? Number(item) : undefined
}

/** The path of a payment for a commodity. */
const PAYMENT = /\/payment\/([^/]+)$/
/** The path of a call of a catalog item. */
const ITEM_CALL = /\/catalog\/items\/(\d{1,15})\/call$/

const carriesPayment = (headers: Incoming['headers']): boolean =>
  headers.has('payment-signature') ||
  headers.has('x-payment') ||
  /(^|,)\s*Payment\s/i.test(headers.get('authorization') ?? '')

/** Null if the credentials are refused: the handler says so. */
async function nameOfCaller(incoming: Incoming, findCaller: () => Promise<Caller>): Promise<string | null> {
  try {
    incoming.principal = (await findCaller()).principal
    return principalName(incoming.principal)
  } catch (error) {
    if (error instanceof Problem) return null
    throw error
  }
}

/** The URL with the service's base path, which each fork expects before its own place. */
function withBase(url: string, basePath: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  return `${url.slice(0, start)}${basePath}${url.slice(start)}`
}
