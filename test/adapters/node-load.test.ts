import { connect, Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Arrival, Arrivals, LoadShedding } from '../../adapters/node/arrivals.js'
import { type Served, serve } from '../../adapters/node.js'
import { WaitingRequests } from '../../src/http/fields/intake.js'

let served: Served | undefined
afterEach(() => served?.close())

/** Sends bytes, and resolves with all that comes back until the server closes the connection. */
const send = (text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(new URL(served?.url ?? '').port), '127.0.0.1', () => socket.write(text))
    socket.setEncoding('utf8').on('data', (part: string) => {
      answer += part
    })
    socket.once('close', () => resolve(answer)).once('error', reject)
  })

/** A caller with a connection of its own. */
const callerOf = (url: string) => ({ url, socket: new Socket() })
type Caller = ReturnType<typeof callerOf>

/** The line of a server. It gets requests of callers, and tells `begin` when they begin. */
function lineOf(waiting: WaitingRequests | undefined, begin: (caller: Caller) => unknown) {
  const arrivals = new Arrivals<Arrival & { readonly req: Caller }>(({ req }) => begin(req))
  const handler = waiting ? { waiting } : {}
  return (caller: Caller) => arrivals.add({ req: caller, handler })
}

test('of many requests at once, some begin in each turn, and the controls first', async () => {
  const begun: string[] = []
  const arrive = lineOf(undefined, ({ url }) => begun.push(url))
  const paths = Array.from({ length: 200 }, (_, n) => `/v4/dq?${n}`)
  for (const url of [...paths, '/_sandbox/health', '/pay/readyz?x=1', '/v4/dq?/healthz']) arrive(callerOf(url))
  const turns: number[] = []
  for (let before = 0; begun.length < 203; before = begun.length) {
    await new Promise((resolve) => setImmediate(resolve))
    turns.push(begun.length - before)
  }
  expect(begun).toEqual(['/_sandbox/health', '/pay/readyz?x=1', ...paths, '/v4/dq?/healthz'])
  // Two urgent ones, and of the others 64 in each turn.
  expect(turns).toEqual([66, 64, 64, 9])
})

describe('when more come than may wait,', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    // The work of a turn takes its time.
    vi.stubGlobal('setImmediate', (act: () => void) => setTimeout(act, 6))
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  test('those who come back later are all served, beside many who repeat at once', () => {
    const served = new Map<string, number>()
    let refused = 0
    const waiting = new WaitingRequests(100)
    const arrive = lineOf(waiting, (caller) => {
      const isServed = waiting.enter()
      if (isServed) waiting.leave()
      if (isServed) served.set(caller.url, (served.get(caller.url) ?? 0) + 1)
      else refused++
      if (caller.url.startsWith('/impatient')) setTimeout(arrive, 1, caller)
      else if (!isServed) setTimeout(arrive, 1000, caller)
    })
    for (let n = 0; n < 400; n++) arrive(callerOf(`/impatient/${n}`))
    for (let n = 0; n < 100; n++) arrive(callerOf(`/patient/${n}`))
    vi.advanceTimersByTime(4000)
    const counts = (kind: string) => [...served].filter(([url]) => url.startsWith(kind)).map(([, count]) => count)
    expect(counts('/patient')).toEqual(Array(100).fill(1))
    expect(counts('/impatient')).toHaveLength(400)
    // Nobody gains by being faster than others, or loses by being turned away.
    expect(Math.max(...counts('/impatient'))).toBeLessThan(2 * Math.min(...counts('/impatient')))
    expect(refused).toBeGreaterThan(1000)
    const total = counts('/').reduce((sum, count) => sum + count)
    expect(refused).toBeLessThan(total / 4)
  })

  test('nobody is turned away once there is room again', () => {
    const rooms: boolean[] = []
    const waiting = new WaitingRequests(300)
    const arrive = lineOf(waiting, () => rooms.push(waiting.hasRoom))
    for (let n = 0; n < 500; n++) arrive(callerOf('/v4/dq'))
    expect(waiting.count).toBe(300)
    vi.advanceTimersByTime(1000)
    expect([rooms.length, rooms.filter((hasRoom) => !hasRoom).length, waiting.count]).toEqual([500, 10, 0])
  })
})

test('a request beyond the surplus ends its connection, and an ended connection leaves it', () => {
  const surplus = new LoadShedding()
  const [many, one, late] = [new Socket(), new Socket(), new Socket()]
  for (let n = 0; n < 9_999; n++) surplus.add({ req: { socket: many } })
  expect(many.isPaused()).toBe(true)
  const last = { req: { socket: one } }
  surplus.add(last)
  surplus.add({ req: { socket: late } })
  expect([many.destroyed, one.destroyed, late.destroyed]).toEqual([false, false, true])
  many.destroy()
  expect(surplus.first).toBe(last)
})

test('a request that does not arrive in time is answered 408, and its connection closed', async () => {
  served = await serve({ fetch: async () => new Response('late') }, { port: 0, requestMs: 50 })
  expect(await send('GET /v4/dq HTTP/1.1\r\nHost: loc')).toMatch(/^HTTP\/1\.1 408 /)
  await expect(serve({ fetch: async () => new Response() }, { requestMs: 0 })).rejects.toThrow('requestMs')
})
