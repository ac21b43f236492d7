import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLoopbackHost, isLoopbackOrigin } from '../../src/base/loopback.js'
import type { Fault } from '../../src/sandbox/onion/fault.js'
import { type FaultPlan, faultsFor } from '../../src/sandbox/rehearse/plan.js'
import type { RunEnd, RunRecord } from '../../src/sandbox/rehearse/record.js'
import { messageOf } from '../../src/storage/unknown.js'
import { MOST_BODY } from './fields.js'
import { type BodyHead, type Destination, drain, forward, passedHeaders, readHead } from './forwarding.js'
import { matchCall } from './matching.js'
import type { ProxyProfile } from './profile.js'
import { type ProxiedCall, ProxyRecord } from './proxy-record.js'

export interface ProxyOptions {
  readonly to: Destination
  readonly profile: ProxyProfile
  readonly slowMs: number
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** Default: a free one. */
  readonly port?: number | undefined
  readonly keepMessages?: boolean | undefined
  /** Called when a call has ended. */
  onCall?(record: Pick<RunRecord, 'calls' | 'payments'>): void
}

/** A call that a proxy passes on or lets fail. */
interface Passing {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly record: ProxyRecord
  readonly call: ProxiedCall
  readonly fault: Fault | undefined
  /** Below the address of the service, with its query. */
  readonly path: string
}

/** How long calls that are still under way are waited for when a run ends. */
const LAST_CALLS_MS = 5000

/** A proxy before one service: it makes a plan of faults happen, and records what a judge reads. */
export class PaymentProxy {
  readonly #server: Server
  readonly #underWay = new Set<Promise<void>>()
  readonly #counts = new Map<string, number>()
  #plan: FaultPlan = []
  #record: ProxyRecord
  #onFault: () => void = () => {}

  constructor(readonly options: ProxyOptions) {
    this.#record = new ProxyRecord(options.profile, options.keepMessages ?? false)
    this.#server = createServer((request, response) => {
      const passing = this.#handle(request, response).catch(() => void response.destroy())
      this.#underWay.add(passing)
      void passing.then(() => this.#underWay.delete(passing))
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
    return this.#record.result(run)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = this.#whyRefused(request)
    if (refusal !== undefined) {
      await drain(request)
      answerJson(response, 403, refusal)
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

  /** It speaks to its service only, and on loopback to this machine only. */
  #whyRefused({ url = '', headers: { host = '', origin } }: IncomingMessage): string | undefined {
    if (!url.startsWith('/') || /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\?]|$)/i.test(url))
      return 'This proxy speaks to one service. Send it a plain path.'
    if (this.options.host !== undefined && !isLoopbackHost(this.options.host)) return undefined
    if (!isLoopbackHost(host.replace(/:\d+$/, ''))) return 'This proxy serves this machine only.'
    return origin === undefined || isLoopbackOrigin(origin) ? undefined : 'This proxy serves no pages of other origins.'
  }

  #faultOf(operation: string): Fault | undefined {
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
      if (fault?.do.duplicate && head.isWhole) await this.#read(passing, head)
      if (fault && !fault.do.duplicate) {
        const { show, answer, body } = await this.#read(passing, head)
        if (fault.do.delay_ms === undefined) this.#fail(passing, fault)
        else {
          this.#onFault()
          await closedOrAfter(response, fault.do.delay_ms)
          if (response.destroyed) return
          response.writeHead(answer.statusCode ?? 502, passedHeaders(answer))
          response.end(body.bytes)
          show()
        }
        return
      }
      const answer = await forward(this.options.to, { request, path, head })
      await passOn(answer, passing)
      if (fault) this.#onFault()
    } catch (error) {
      record.failed(call, 502)
      if (response.headersSent) response.destroy()
      else answerJson(response, 502, `The service did not answer: ${messageOf(error)}`)
    }
  }

  /** Has the service answer, and passes nothing on. */
  async #read({ request, record, call, path }: Passing, head: BodyHead) {
    const answer = await forward(this.options.to, { request, path, head })
    const body = await readHead(answer)
    await drain(answer)
    const message = { headers: answer.headers, body: body.isWhole ? body.bytes : undefined }
    return { answer, body, show: record.answered(call, answer.statusCode ?? 502, message) }
  }

  #fail({ response, record, call }: Passing, fault: Fault): void {
    if (fault.do.status === undefined) response.destroy()
    else {
      record.failed(call, fault.do.status)
      answerJson(response, fault.do.status, 'A fault of farthing proxy.')
    }
    this.#onFault()
  }
}

/** Streams an answer to its caller. If the caller leaves, the service is still listened to. */
async function passOn(answer: IncomingMessage, { response, record, call }: Passing): Promise<void> {
  const status = answer.statusCode ?? 502
  const isLive = /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '')
  const kept: Buffer[] = []
  let length = 0
  // A caller that has the last piece may leave at once. Before that, the answer is recorded as seen.
  let held: Buffer | undefined
  const write = (piece: Buffer | undefined) => {
    if (piece && !response.destroyed && !response.write(piece)) answer.pause()
  }
  response.writeHead(status, passedHeaders(answer))
  response.on('drain', () => answer.resume()).on('close', () => answer.resume())
  answer.on('data', (piece: Buffer) => {
    length += piece.length
    if (length <= MOST_BODY) kept.push(piece)
    write(isLive ? piece : held)
    held = isLive ? undefined : piece
  })
  await new Promise<void>((resolve, reject) => {
    answer.once('end', resolve).once('error', reject)
  })
  const body = length <= MOST_BODY ? Buffer.concat(kept) : undefined
  const show = record.answered(call, status, { headers: answer.headers, body })
  if (response.destroyed) return
  show()
  response.end(held)
}

function closedOrAfter(response: ServerResponse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    response.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function answerJson(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { type: 'api_error', message } }))
}
