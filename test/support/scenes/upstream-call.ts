import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { afterEach } from 'vitest'
import { type Alarm, systemAlarm, systemUpstream, type Upstream } from '../../../src/base/ports.js'
import { ServiceEnding } from '../../../src/http/ending.js'
import { callUpstream, readWhole, type UpstreamCall, UpstreamFailure } from '../../../src/jobs/upstream/call.js'
import { checkUpstreamUrl } from '../../../src/jobs/upstream/policy.js'

/** What tests of single calls of upstream services share. */

const allowUpstream = () => true
const policy = { allowUpstream, sandbox: undefined }
export const LIMIT = 100_000
/** Less than what is waited for, and more than a call of this machine takes. */
export const SHORT_MS = 150

/** Little servers on loopback, closed after each test. */
export function servers() {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()))
  })

  async function listen(server: Server, destroyAll: () => void): Promise<string> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => {
      destroyAll()
      return new Promise((resolve) => server.close(resolve))
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async function serving(answer: RequestListener): Promise<string> {
    const server = createServer(answer)
    return listen(server, () => server.closeAllConnections())
  }

  /** A server that sends these bytes to whoever asks it something, as they are. */
  async function sending(act: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>()
    const server = createTcpServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('data', () => act(socket))
    })
    return listen(server, () => {
      for (const socket of sockets) socket.destroy()
    })
  }

  return { serving, sending }
}

/** An alarm that rings when the test says so. */
export function byHand() {
  const set: number[] = []
  let rings = () => {}
  const alarm: Alarm = {
    set(ms, ring) {
      set.push(ms)
      rings = ring
      return () => {}
    },
  }
  return { alarm, set, ring: () => rings() }
}

export interface Told extends Partial<Omit<UpstreamCall, 'url'>> {
  readonly upstream?: Upstream
  readonly alarm?: Alarm
  readonly upstreamMs?: number
  readonly ending?: ServiceEnding
}

export function call(
  url: string,
  {
    upstream = systemUpstream,
    alarm = systemAlarm,
    upstreamMs = 10_000,
    ending = new ServiceEnding(systemAlarm),
    ...rest
  }: Told = {},
) {
  const service = { upstream, alarm, ending, limits: { upstreamMs, upstreamBytes: LIMIT }, ...policy }
  return callUpstream(service, {
    method: 'GET',
    headers: {},
    body: null,
    hops: 0,
    ...rest,
    url: checkUpstreamUrl(url, policy),
  })
}
export type Answer = Awaited<ReturnType<typeof call>>

export const textOf = async (answer: Answer) => new TextDecoder().decode(await readWhole(answer))
export const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => {
      if (error instanceof UpstreamFailure) return error.reason
      throw error
    },
  )
export const ends = (socket: { once(event: 'close', act: () => void): unknown }) =>
  new Promise<void>((resolve) => socket.once('close', resolve))
