import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request as requestHttp,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect, type Server } from 'node:net'
import { onTestFinished } from 'vitest'
import { destinationOf } from '../../../sandbox/commands/proxy.js'
import type { ProxyProfile } from '../../../sandbox/proxy/profile.js'
import { PaymentProxy, type ProxyOptions } from '../../../sandbox/proxy/proxy.js'
import type { FaultPlan } from '../../../src/sandbox/rehearse/plan.js'
import type { RunRecord } from '../../../src/sandbox/rehearse/record.js'

/** Services behind a proxy, and clients of one, for tests. What they start ends with the test. */

/** The call `pay` is a payment; all other calls are none. */
export const payProfile: ProxyProfile = {
  keys: { key: 'header:idempotency-key' },
  amount: ['/amount'],
  payment: '/id',
  outcome: [{ field: '/status', paid: ['paid'] }],
  calls: { pay: { request: 'POST /pay' } },
}

/** For a service with keys in the body, and the command that pays there by `SHOP_API`. */
export const bodyKeyProfile: ProxyProfile = {
  environment: ['SHOP_API'],
  keys: { key: '/key' },
  item: ['/article'],
  amount: ['/amount'],
  payment: '/id',
  outcome: [{ field: '/status', paid: ['paid'] }],
  calls: { pay: { request: 'POST /payments' } },
}

export const PAID = { id: 'p1', status: 'paid' }

/** Listens on a free port of this machine. Returns it. */
export async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

interface Asked {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answer = (response: ServerResponse, asked: Asked) => void

/** A service that keeps what it was asked, if all of it came. Default: it says that it was paid. */
export async function startService(answer: Answer = (response) => void response.end(JSON.stringify(PAID))) {
  const asked: Asked[] = []
  const listener: RequestListener = async (request, response) => {
    let body = ''
    try {
      for await (const piece of request.setEncoding('latin1')) body += piece
    } catch {
      return
    }
    const { method = '', url = '', headers, rawHeaders } = request
    asked.push({ method, url, headers, rawHeaders, body })
    answer(response, asked.at(-1) as Asked)
  }
  const server = createServer(listener)
  const port = await listening(server)
  onTestFinished(() => server.closeAllConnections())
  return { url: `http://127.0.0.1:${port}`, port, asked }
}

export interface StartedProxy {
  readonly url: string
  readonly port: number
  readonly proxy: PaymentProxy
  /** Ends the run. */
  record(): Promise<RunRecord>
}

export async function startProxy(
  to: string,
  { plan = [], ...options }: Partial<ProxyOptions> & { readonly plan?: FaultPlan } = {},
): Promise<StartedProxy> {
  const proxy = new PaymentProxy({ to: destinationOf(to), profile: payProfile, slowMs: 30, ...options })
  await proxy.listen()
  onTestFinished(() => proxy.close())
  proxy.begin(plan)
  const record = () => proxy.end({ ended: { isOk: true, result: undefined }, output: '' }, { withinMs: 1000 })
  return { url: proxy.url, port: Number(new URL(proxy.url).port), proxy, record }
}

export interface Answered {
  readonly status: number
  readonly reason: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Buffer
}

/** Sends a request with its path as it is. Rejects if the answer breaks off. */
export function send(port: number, path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = requestHttp({ host: '127.0.0.1', port, path, method, headers, agent: false }, async (answer) => {
      const { statusCode: status = 0, statusMessage: reason = '', rawHeaders } = answer
      try {
        const pieces: Buffer[] = []
        for await (const piece of answer) pieces.push(piece)
        resolve({ status, reason, headers: answer.headers, rawHeaders, body: Buffer.concat(pieces) })
      } catch (error) {
        reject(error)
      }
    })
    sent.once('error', reject).end(body)
  })
}

export const pay = (port: number, sent: Sent = {}): Promise<Answered> =>
  send(port, '/pay', { method: 'POST', body: '{"amount":5}', ...sent })

/** Writes bytes to a port, and resolves with what comes until the other side closes, or is quiet. */
export function exchange(port: number, text: string, quietMs = 150): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => void socket.write(text, 'latin1'))
    socket.setTimeout(quietMs, () => socket.destroy())
    socket.on('data', (piece) => {
      answer += piece.toString('latin1')
    })
    socket.once('error', () => {}).once('close', () => resolve(answer))
  })
}
