import { setMaxListeners } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Fault } from '../../src/sandbox/onion/fault.js'
import { type FaultPlan, faultsFor } from '../../src/sandbox/rehearse/plan.js'
import type { RunEnd, RunRecord } from '../../src/sandbox/rehearse/record.js'
import { RehearsalRefused, type RehearsalStage } from '../../src/sandbox/rehearse/rehearse-stage.js'
import {
  type BodyHead,
  closedOrAfter,
  type Destination,
  drain,
  forward,
  MOST_HEADERS,
  type Passing,
  passOn,
  readHead,
} from './forwarding.js'
import { answerOwn, answerUnreadable, type OwnAnswer, whyNoAnswer, whyRefused } from './own-answers.js'
import type { ProxyProfile } from './profile.js'
import { matchCall } from './profile.js'
import { ProxyRecord } from './proxy-record.js'

export interface ProxyOptions {
  readonly to: Destination
  readonly profile: ProxyProfile
  readonly slowMs: number
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** Default: a free one. */
  readonly port?: number | undefined
  readonly keepMessages?: boolean | undefined
  /** How long the service may be silent before it answers, in milliseconds. Default: two minutes. */
  readonly silentMs?: number | undefined
  /** Called when a call has ended. */
  onCall?(record: Pick<RunRecord, 'calls' | 'payments'>): void
}

/** How long calls that are still under way are waited for when a run ends. */
const LAST_CALLS_MS = 5000
/** Longer than clients wait. */
const SILENT_MS = 120_000

/** A proxy before one service: it makes a plan of faults happen, and records what a judge reads. */
export class PaymentProxy {
  readonly #server: Server
  readonly #underWay = new Set<Promise<void>>()
  readonly #counts = new Map<string, number>()
  #plan: FaultPlan = []
  #record: ProxyRecord
  #onFault: () => void = () => {}
  /** Ends the calls that a run leaves behind. */
  #ending = manyHear(new AbortController())
  #failure: OwnAnswer | undefined

  constructor(readonly options: ProxyOptions) {
    this.#record = new ProxyRecord(options.profile, options.keepMessages ?? false)
    const answering = new WeakMap<Duplex, ServerResponse>()
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      answering.set(
        request.socket,
        response.on('error', () => {}),
      )
      const passing = this.#handle(request, response).catch(() => void response.destroy())
      this.#underWay.add(passing)
      void passing.then(() => this.#underWay.delete(passing))
    }
    this.#server = createServer({ maxHeaderSize: MOST_HEADERS, insecureHTTPParser: false }, answer)
    this.#server.on('checkExpectation', answer).on('clientError', (_, socket) => {
      const response = answering.get(socket)
      // In the middle of an answer, the client would take it for a part of that.
      if (response?.headersSent && !response.writableFinished) socket.destroy()
      else answerUnreadable(socket)
    })
  }

  /** Rejects if the port is taken. */
  async listen(): Promise<void> {
    const { host = '127.0.0.1', port = 0 } = this.options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(port, host, resolve)
    })
  }

  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** Begins a run. `onFault`: called when its first fault has happened. */
  begin(plan: FaultPlan, onFault: () => void = () => {}): void {
    this.#plan = plan
    this.#onFault = onFault
    this.#counts.clear()
    this.#failure = undefined
    this.#ending = manyHear(new AbortController())
    this.#record = new ProxyRecord(this.options.profile, this.options.keepMessages ?? false)
  }

  /** What went through since the run began, with the calls that end in time. */
  async end(
    run: { readonly ended: RunEnd; readonly output: string },
    { withinMs = LAST_CALLS_MS } = {},
  ): Promise<RunRecord> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs)
    })
    await Promise.race([Promise.all(this.#underWay), late])
    clearTimeout(timer)
    this.#ending.abort()
    return this.#record.result(run)
  }

  /** Why the service gave no answer in this run. Undefined if it always did. */
  get failure(): string | undefined {
    return this.#failure?.sentence
  }

  async close(): Promise<void> {
    this.#ending.abort()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = whyRefused(request, (this.#server.address() as AddressInfo).address)
    if (refusal !== undefined) {
      await drain(request)
      answerOwn(response, refusal)
      return
    }
    const { url: path = '/', method = 'GET' } = request
    const matched = matchCall(this.options.profile, method, path.replace(/\?.*/, ''))
    const fault = this.#faultOf(matched.operation)
    const record = this.#record
    const call = record.begin(matched, method, fault?.id)
    try {
      await this.#pass({ request, response, record, call, fault, path })
    } finally {
      this.options.onCall?.(record.shown(call))
    }
  }

  #faultOf(operation: string): Fault | undefined {
    // Calls without a fault have as many names as paths.
    if (!this.#plan.some((planned) => planned.operation === operation)) return undefined
    const nth = (this.#counts.get(operation) ?? 0) + 1
    this.#counts.set(operation, nth)
    const at = this.#plan.findIndex((planned) => planned.operation === operation && planned.nth === nth)
    return at < 0 ? undefined : faultsFor(this.#plan, this.options)[at]
  }

  async #pass(passing: Passing): Promise<void> {
    const { request, response, record, call, fault, path } = passing
    const isLooked = call.matched.call !== undefined || fault !== undefined || record.keepMessages
    const head = await readHead(request, isLooked ? undefined : 0)
    record.sent(call, { headers: request.headers, body: head.isWhole ? head.bytes : undefined }, path)
    if (fault?.at === 'before') {
      await drain(request)
      this.#fail(passing, fault)
      return
    }
    try {
      await this.#answer(passing, head)
    } catch (error) {
      if (isAborted(error)) {
        response.destroy()
        return
      }
      const own = whyNoAnswer(error, this.options.to)
      if (record === this.#record) this.#failure = own
      const isBegun = response.headersSent || response.destroyed
      record.failed(call, isBegun ? null : own.status, own.error)
      if (isBegun) response.destroy()
      else answerOwn(response, own)
    }
  }

  async #answer(passing: Passing, head: BodyHead): Promise<void> {
    const { response, fault } = passing
    const { duplicate = false, delay_ms: delayMs } = fault?.do ?? {}
    if (fault && !duplicate && delayMs === undefined) {
      await this.#read(passing, head)
      this.#fail(passing, fault)
      return
    }
    if (duplicate && head.isWhole) await this.#read(passing, head)
    const answer = await this.#forward(passing, head)
    if (fault) this.#onFault()
    if (delayMs !== undefined) await closedOrAfter(response, delayMs)
    await passOn(answer, passing)
  }

  #forward({ request, path }: Passing, head: BodyHead): Promise<IncomingMessage> {
    const { to, silentMs = SILENT_MS } = this.options
    return forward(to, { request, path, head, silentMs, signal: this.#ending.signal })
  }

  /** Has the service answer, and passes nothing on. */
  async #read(passing: Passing, head: BodyHead): Promise<void> {
    const answer = await this.#forward(passing, head)
    const { bytes, isWhole } = await readHead(answer)
    await drain(answer)
    const message = { headers: answer.headers, body: isWhole ? bytes : undefined }
    passing.record.answered(passing.call, answer.statusCode ?? 502, message)
  }

  #fail({ response, record, call }: Passing, fault: Fault): void {
    const { status, retry_after: wait } = fault.do
    if (status === undefined) response.destroy()
    else {
      record.failed(call, status)
      // A client that does not read it would wait for the end of the connection before it exits.
      const retry = wait !== undefined && { 'retry-after': String(wait) }
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...retry })
      response.end(JSON.stringify({ error: { type: 'api_error', message: 'A fault of farthing proxy.' } }))
    }
    this.#onFault()
  }
}

/** Whether the run ended before the service answered. */
const isAborted = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

function manyHear(ending: AbortController): AbortController {
  setMaxListeners(0, ending.signal)
  return ending
}

/** Runs an application once. `until`: it is stopped when this resolves. */
type RunBefore = (
  url: string,
  options: { readonly until?: Promise<void> | undefined },
) => Promise<{ readonly ended: RunEnd; readonly output: string }>

/** Runs an application with a proxy before a service. The service keeps what earlier runs did. */
export const proxyStage = (proxy: PaymentProxy, run: RunBefore): RehearsalStage => ({
  // Its answer is one of farthing's.
  without: ['pending'],
  async run(plan) {
    let happen = () => {}
    const fault = new Promise<void>((resolve) => {
      happen = resolve
    })
    proxy.begin(plan, happen)
    if (plan.some(({ kind }) => kind === 'restart')) await run(proxy.url, { until: fault })
    const record = await proxy.end(await run(proxy.url, {}))
    if (plan.length === 0 && record.payments.length === 0 && proxy.failure !== undefined)
      throw new RehearsalRefused(`The service did not answer. ${proxy.failure}`)
    return record
  },
})
