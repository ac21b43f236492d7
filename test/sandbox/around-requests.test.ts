import { expect, test } from 'vitest'
import { problem } from '../../src/base/problem.js'
import type { DecodedRequest } from '../../src/http/around.js'
import type { Incoming } from '../../src/http/incoming.js'
import type { RenderedAnswer } from '../../src/http/rendered-answer.js'
import { SandboxRequests } from '../../src/sandbox/onion/around-requests.js'
import type { FaultyRequest } from '../../src/sandbox/onion/fault.js'
import { rootUrl } from '../../src/sandbox/onion/fork-urls.js'
import { DURATIONS, Measurements } from '../../src/sandbox/onion/measurements.js'

const HOME = 'http://127.0.0.1:4242'
const guarded = { baseUrl: HOME, sandbox: { controlToken: 't', allowOrigins: [], allowHosts: [] } }

/** The rules around the requests of a sandbox that has one fork, `f1`, and writes down what reaches it. */
function start({
  clock = 'manual',
  recorder = {},
  isArmed = false,
  perform = (_: FaultyRequest): unknown => 'faulty',
} = {}) {
  const passedOn: unknown[] = []
  const engine = { perform: async (request: FaultyRequest) => perform(request) }
  let loads = 0
  const load = async () => {
    loads++
    return engine
  }
  const sandbox = {
    ...{ isServed: false, clock: { mode: clock }, calls: new Map<string, number>() },
    ...{ measurements: new Measurements(0), faults: { engine: isArmed ? engine : undefined, load } },
    forks: {
      find: (path: string) => (path.includes('/f1/') ? 'f1' : undefined),
      async respond(id: string, _: Request, source: object) {
        passedOn.push({ id, ...source })
        return new Response('of the fork')
      },
    },
  }
  let finds = 0
  const around = new SandboxRequests(guarded, () => {
    finds++
    return sandbox as never
  })
  const service = { options: { basePath: '/pay' }, recorder, background: { settling: async () => undefined } } as never
  return { around, sandbox, service, passedOn, finds: () => finds, loads: () => loads }
}

function incomingOf(path: string, { peer, ...more }: { peer?: string; [name: string]: unknown } = {}) {
  const { method = 'GET', headers = {} } = more as { method?: string; headers?: Record<string, string> }
  const url = `${HOME}${path}`
  const source = peer === undefined ? {} : { peerAddress: peer }
  const request = new Request(url, { method, headers })
  return { path, url, source, began: 0, request, ...more, method, headers: request.headers } as unknown as Incoming
}

test('a request over a network is guarded, and shows that the sandbox is served', async () => {
  const { around, sandbox, service, finds } = start()
  const inside = incomingOf('/v4/dq')
  await around.enter(inside, service, undefined)
  expect([sandbox.isServed, inside.began > 0]).toEqual([false, true])
  const began = incomingOf('/v4/dq', { began: 5 })
  await around.enter(began, service, undefined)
  expect(began.began).toBe(5)
  const rebound = { ...incomingOf('/v4/dq', { peer: '127.0.0.1' }), url: 'http://evil.example.test/' }
  expect(() => around.enter(rebound, service, undefined)).toThrow(expect.objectContaining({ code: 'host_refused' }))
  expect([sandbox.isServed, finds()]).toEqual([true, 1])
})

test('a request waits for the start, and while the clock stands for the work of earlier ones, if they are recorded', async () => {
  const order: string[] = []
  const { around, service } = start()
  const started = async () => void order.push('started')
  expect(await around.enter(incomingOf('/v4/dq'), service, started)).toBeUndefined()
  expect(order).toEqual(['started'])
  expect(around.enter(incomingOf('/v4/dq'), service, undefined)).toBeInstanceOf(Promise)
  const running = start({ clock: 'real' })
  expect(running.around.enter(incomingOf('/v4/dq'), running.service, undefined)).toBeUndefined()
  const unrecorded = start({ recorder: undefined as never })
  const service2 = { ...(unrecorded.service as object), recorder: undefined } as never
  expect(unrecorded.around.enter(incomingOf('/v4/dq'), service2, undefined)).toBeUndefined()
})

test('a request of a fork is passed on with the base path, to callers who may use the controls', async () => {
  const { around, service, passedOn } = start()
  const path = '/_sandbox/forks/f1/v4/dq'
  const answer = await around.enter(incomingOf(path, { peer: '127.0.0.1' }), service, undefined)
  expect(await answer?.text()).toBe('of the fork')
  expect(passedOn).toEqual([{ id: 'f1', peerAddress: '127.0.0.1', url: `${HOME}/pay${path}` }])
  const refused = around.enter(incomingOf(path, { peer: '10.0.0.7' }), service, undefined)
  await expect(refused).rejects.toMatchObject({ code: 'sandbox_refused' })
  await around.enter(incomingOf(path, { peer: '10.0.0.7', method: 'OPTIONS' }), service, undefined)
  await around.enter(incomingOf('/v4/forks/f1/v4/dq'), service, undefined)
  expect(passedOn).toHaveLength(2)
})

test('calls are counted by their operation and version, and controls are guarded unless they are open', () => {
  const { around, sandbox } = start()
  for (const name of ['readDq v4', 'readDq v4', 'pay v4']) around.reach({ name } as never)
  expect([...sandbox.calls]).toEqual([
    ['readDq v4', 2],
    ['pay v4', 1],
  ])
  const said = (route: object, incoming: Incoming, takesSession = false) => {
    try {
      around.guard({ route, takesSession } as never, incoming)
      return 'ok'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const stranger = incomingOf('/x', {
    peer: '10.0.0.7',
    method: 'POST',
    headers: { 'sec-fetch-site': 'cross-site', cookie: 'session_id=1' },
  })
  expect(said({ scope: 'sandbox' }, stranger)).toBe('sandbox_refused')
  expect(said({ scope: 'sandbox', isOpen: true }, stranger)).toBe('ok')
  expect([said({}, stranger), said({}, stranger, true)]).toEqual(['origin_refused', 'cross_site'])
  expect(said({}, { ...stranger, source: {} })).toBe('ok')
  const origin = 'https://evil.example.test'
  expect(around.mayRead(origin, incomingOf('/x', { peer: '127.0.0.1', headers: { origin } }))).toBe(false)
  expect(around.mayRead(origin, incomingOf('/x', { headers: { origin } }))).toBe(true)
})

function decoded(incoming: Incoming, more: object = {}) {
  const endpoint = { route: { id: 'pay' } }
  return {
    endpoint,
    incoming,
    body: { a: 1 },
    findCaller: async () => ({ principal: { kind: 'agent', connection_id: 3 } }),
    ...more,
  } as unknown as DecodedRequest
}
const run = async () => 'own' as unknown as RenderedAnswer
const HEADER = { 'x-sandbox-fault': 'before; drop' }

test('faults happen to requests of the service, while some are armed, or by a header of those who may use the controls', async () => {
  const idle = start()
  expect(await idle.around.run(decoded(incomingOf('/v4/dq')), run)).toBe('own')
  expect(await idle.around.run(decoded(incomingOf('/v4/dq', { headers: HEADER })), run)).toBe('faulty')
  const stranger = incomingOf('/v4/dq', { headers: HEADER, peer: '10.0.0.7' })
  await expect(idle.around.run(decoded(stranger), run)).rejects.toMatchObject({ code: 'sandbox_refused' })
  expect(idle.loads()).toBe(1)
  const armed = start({ isArmed: true })
  expect(await armed.around.run(decoded(incomingOf('/v4/dq', { peer: '10.0.0.7' })), run)).toBe('faulty')
  const control = decoded(incomingOf('/_sandbox/clock', { headers: HEADER }), {
    endpoint: { route: { id: 'c', scope: 'sandbox' } },
  })
  expect([await armed.around.run(control, run), armed.loads()]).toEqual(['own', 0])
})

test('a fault that is noted names the last one, also if the answer is lost, which then names no session', async () => {
  const noted: string[] = []
  const perform = ({ note }: FaultyRequest) => {
    note('fault_1', { isLost: true })
    note('fault_2', { isLost: false })
    throw new Error('dropped')
  }
  const { around } = start({ isArmed: true, perform })
  const recording = { noteFault: (id: string) => void noted.push(id) }
  const incoming = incomingOf('/v4/dq', { recording, session: 'ms_1', issued: true })
  await expect(around.run(decoded(incoming), run)).rejects.toThrow('dropped')
  expect([noted, incoming.session, incoming.issued]).toEqual([['fault_2'], undefined, false])
  const kept = start({ isArmed: true, perform: ({ note }) => note('fault_1', { isLost: false }) })
  const other = incomingOf('/v4/dq', { session: 'ms_1', issued: true })
  await kept.around.run(decoded(other), run)
  expect([other.session, other.issued]).toEqual(['ms_1', true])
  const none = start({ isArmed: true })
  await none.around.run(decoded(incomingOf('/v4/dq', { recording })), run)
  expect(noted).toEqual(['fault_2'])
})

test('a fault learns who calls, unless the credentials are refused, and whether the answer has a body', async () => {
  const asked = async (incoming: Incoming, findCaller: () => Promise<unknown>) => {
    let seen: unknown[] = []
    const perform = async ({ principal, takesBody, fields, operationId, service }: FaultyRequest) => {
      seen = [await principal(), takesBody, fields, operationId, service]
    }
    const { around, service } = start({ isArmed: true, perform })
    await around.enter(incoming, service, undefined)
    await around.run(decoded(incoming, { findCaller }), run)
    expect(seen.slice(2)).toEqual([{ a: 1 }, 'pay', service])
    return seen.slice(0, 2)
  }
  const agent = async () => ({ principal: { kind: 'agent', connection_id: 3 } })
  expect(await asked(incomingOf('/v4/dq'), agent)).toEqual(['agent:3', true])
  const head = { ...incomingOf('/v4/dq'), request: new Request(HOME, { method: 'HEAD' }) }
  expect(await asked(head, () => Promise.reject(problem('not_found')))).toEqual([null, false])
  await expect(asked(incomingOf('/v4/dq'), () => Promise.reject(new TypeError('wrong')))).rejects.toThrow('wrong')
})

const PAID = { 'payment-signature': 'x' }
test.each<[string, string, Record<string, string>, string | number | undefined]>([
  ['POST', '/v4/payment/abc', {}, 'abc'],
  ['GET', '/v4/payment/abc', {}, undefined],
  ['POST', '/v4/payment/abc/x', {}, undefined],
  ['GET', '/v4/catalog/items/12/call', PAID, 12],
  ['POST', '/v4/catalog/items/12/call', { 'x-payment': 'x' }, 12],
  ['POST', '/v4/catalog/items/12/call', { authorization: 'Payment abc' }, 12],
  ['POST', '/v4/catalog/items/12/call', { authorization: 'Bearer a,  payment abc' }, 12],
  ['POST', '/v4/catalog/items/12/call', { authorization: 'Bearer Payment abc' }, undefined],
  ['POST', '/v4/catalog/items/12/call', { authorization: 'Payments abc' }, undefined],
  ['POST', '/v4/catalog/items/12/call', {}, undefined],
  ['POST', '/v4/catalog/items/12/calls', PAID, undefined],
  ['POST', '/v4/catalog/items/x/call', PAID, undefined],
  ['POST', `/v4/catalog/items/${'1'.repeat(16)}/call`, PAID, undefined],
])('%s %s with %j pays for %s', async (method, path, headers, expected) => {
  let paysFor: unknown
  const { around } = start({ isArmed: true, perform: (request) => (paysFor = request.paysFor) })
  await around.run(decoded(incomingOf(path, { method, headers })), run)
  expect(paysFor).toBe(expected)
})

test('each request that ended is measured once: its status, its time, and a stream while it is open', async () => {
  const { around, service, sandbox } = start()
  const { measurements } = sandbox
  const endpoint = { route: { id: 'pay' } }
  const incoming = incomingOf('/v4/dq', { endpoint, began: performance.now() - 5 })
  await around.enter(incoming, service, undefined)
  const answer: RenderedAnswer = { status: 200, headers: {}, body: 'x' }
  expect(around.leave(incoming, answer)).toBe(answer)
  expect([incoming.ms >= 5, incoming.ms < 60_000]).toEqual([true, true])
  const unmeasured = new SandboxRequests(guarded, () => ({}) as never)
  expect(unmeasured.leave(incomingOf('/'), answer)).toBe(answer)
  expect([...(measurements.operations.get('pay')?.statuses ?? [])]).toEqual([[200, 1]])
})

test('a request counts in the first bucket that is as long as it took, and by its operation and status', () => {
  const measurements = new Measurements(0)
  const endpoint = { route: { id: 'pay' } }
  const answer: RenderedAnswer = { status: 200, headers: {}, body: 'x' }
  const count = (ms: number, given: RenderedAnswer | undefined) => measurements.count({ endpoint, ms } as never, given)
  for (const seconds of [...DURATIONS, 11]) count(seconds * 1000, answer)
  for (const seconds of DURATIONS) count(seconds * 1000 + 0.0001, { ...answer, status: 402 })
  expect(count(0, undefined)).toBeUndefined()
  measurements.count({ endpoint: undefined, ms: 0 }, answer)
  const measured = measurements.operations.get('pay')
  expect(measured?.statuses).toEqual(
    new Map([
      [200, 14],
      [402, 13],
      [0, 1],
    ]),
  )
  expect(measured?.buckets).toEqual(Array(14).fill(2))
  expect(measured?.seconds).toBeCloseTo(2 * DURATIONS.reduce((sum, each) => sum + each) + 11, 3)
  expect(measurements.operations.get('none')?.statuses).toEqual(new Map([[200, 1]]))
})

test.each(['its end', 'its failure', 'its reader'])('an event stream counts as open until %s', async (by) => {
  const measurements = new Measurements(0)
  const measured = () => measurements.operations.get('none')?.streams
  let [cancelled, next]: [unknown, (controller: ReadableStreamDefaultController) => void] = [
    undefined,
    (to) => to.enqueue('a'),
  ]
  const body = new ReadableStream(
    { pull: (controller) => next(controller), cancel: (reason) => void (cancelled = reason) },
    { highWaterMark: 0 },
  )
  const of = (type: string) => ({ status: 200, headers: { 'content-type': type }, body })
  expect(measurements.count({ endpoint: undefined, ms: 0 }, of('text/html'))?.body).toBe(body)
  expect(measured()).toBe(0)
  const stream = measurements.count({ endpoint: undefined, ms: 0 }, of('text/event-stream; charset=utf-8'))
  const reader = (stream.body as ReadableStream).getReader()
  expect([measured(), await reader.read()]).toEqual([1, { done: false, value: 'a' }])
  if (by === 'its end') {
    next = (to) => to.close()
    expect((await reader.read()).done).toBe(true)
  } else if (by === 'its failure') {
    next = (to) => to.error(new Error('broken'))
    await expect(reader.read()).rejects.toThrow('broken')
  } else await reader.cancel('enough')
  expect([measured(), cancelled]).toEqual([0, by === 'its reader' ? 'enough' : undefined])
})

test('commits and bodies that ran again are counted, and writes that changed nothing are no commits', () => {
  const measurements = new Measurements(0)
  for (const [writes, retries] of [
    [0, 1],
    [2, 0],
    [1, 3],
  ])
    measurements.countWrite({ writes, retries } as never)
  expect([measurements.commits, measurements.reruns]).toEqual([2, 4])
})

test('the root of a fork is that of the service that it belongs to', () => {
  expect(rootUrl({ baseUrl: `${HOME}/pay` })).toBe(`${HOME}/pay`)
  expect(rootUrl({ baseUrl: `${HOME}/pay/_sandbox/forks/f1/_sandbox/forks/f2` })).toBe(`${HOME}/pay`)
})
