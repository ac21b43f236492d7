import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { nodeUpstream, serve } from '../../adapters/node.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service, type ServiceOptions } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { isWhole } from '../support/how-much.js'
import { advance, expectProblem } from '../support/scenes/market.js'
import { type Market, newMarket, paymentHeaders, paywall, settledBalances } from '../support/scenes/paywall.js'
import { closedPort, useUpstream } from '../support/scenes/upstream.js'
import { failingStorage } from '../support/storage/failing-storage.js'
import { useFileStorages } from '../support/storage/file-storages.js'

const upstream = useUpstream()
/** Where nobody listens. */
let closed: number
beforeAll(async () => {
  closed = await closedPort()
})

interface Fault {
  readonly url: () => string
  readonly status: number
  readonly settled: 'posted' | 'reversed'
  readonly options?: ServiceOptions extends infer O ? Partial<O> : never
}

const at = (path: string, status: number, settled: Fault['settled']): Fault => ({
  url: () => `${upstream.url}/${path}`,
  status,
  settled,
})

const faults: Record<string, Fault> = {
  'none: it answers 200': at('ok', 200, 'posted'),
  'it answers piece by piece': at('pieces', 200, 'posted'),
  'it answers 404': at('status/404', 404, 'posted'),
  'it answers 500': at('status/500', 500, 'reversed'),
  'it answers 503': at('status/503', 503, 'reversed'),
  'its name is unknown': { url: () => 'http://nobody.invalid/', status: 502, settled: 'reversed' },
  'it refuses the connection': { url: () => `http://127.0.0.1:${closed}/`, status: 502, settled: 'reversed' },
  'it breaks the connection off': at('reset', 502, 'reversed'),
  'it is silent before its head': at('hang', 502, 'reversed'),
  'it is silent after its head': at('stall', 502, 'reversed'),
  'its body is cut short': at('truncated', 502, 'reversed'),
  'its body is too large': at('large', 502, 'reversed'),
  'it redirects inward': at('redirect', 502, 'reversed'),
  'the port itself fails': {
    ...at('ok', 502, 'reversed'),
    options: {
      upstream: {
        fetch() {
          throw new TypeError('a broken port')
        },
      },
    },
  },
}

const LIMITS = { upstreamMs: 900, upstreamBytes: 100_000 }
const files = useFileStorages()
/** The one on which every fault is tried in `npm test`. */
const RERUN = 'memory, every write run twice'
const storages: Record<string, () => Promise<Storage>> = {
  memory: async () => memoryStorage(),
  [RERUN]: async () => memoryStorage({ rerun: true }),
  file: () => files.open(),
}
/** One fault of each outcome. On what storage the call waits changes nothing between them. */
const samples = ['none: it answers 200', 'it answers 500', 'its body is cut short']
const triedOn = (storage: string) =>
  Object.entries(faults).filter(([fault]) => isWhole || storage === RERUN || samples.includes(fault))

let service: Service
let call: Call
let market: Market

async function begin(storage: Storage, options: Partial<ServiceOptions> = {}): Promise<void> {
  service = createService({ storage, sandbox: true, limits: LIMITS, upstream: nodeUpstream(), ...options })
  call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  market = await newMarket(call)
}

afterEach(() => service.close())

const order = (serviceUrl: string) => ({ amount: 1, destination: market.shop, serviceUrl })
const statusOf = async (answer: Answer): Promise<string> => {
  const { id, status } = paymentHeaders(answer)
  expect((await call('GET', `/v4/payments/${id}`, { token: market.seller.token })).body.status).toBe(status)
  return status ?? ''
}

/** One payment, in one of the two ways, and nothing held; as the rows at rest say too. */
async function expectSettled(settled: Fault['settled']): Promise<void> {
  expect(await settledBalances(call, market)).toEqual(settled === 'posted' ? [9, 1] : [10, 0])
  const { rows } = await service.sandbox.snapshot()
  expect(rows.held_calls ?? []).toEqual([])
  expect(rows.payments).toMatchObject([{ kind: 'paywall', status: settled }])
}

/** What is true when every write runs twice is true when it runs once. */
const tried = Object.keys(storages).filter((name) => isWhole || name !== 'memory')

describe.each(tried)('on %s', (name) => {
  test.each(triedOn(name))('%s: the payment settles once, and no value stays held', async (_, fault) => {
    await begin(await (storages[name] as () => Promise<Storage>)(), fault.options)
    const answer = await paywall(call, { token: market.payer.token }, order(fault.url()))
    expect(answer.status).toBe(fault.status)
    expect(await statusOf(answer)).toBe(fault.settled)
    await expectSettled(fault.settled)
  })

  test.each(triedOn(name))('%s: a payment with an idempotency key calls the service at most once', async (_, fault) => {
    await begin(await (storages[name] as () => Promise<Storage>)(), fault.options)
    const keyed = { token: market.payer.token, headers: { 'idempotency-key': 'once' } }
    const ask = () => paywall(call, keyed, order(fault.url()))
    const answers = [...(await Promise.all([ask(), ask(), ask()])), await ask()]
    const done = answers.filter(({ status }) => status !== 409)
    expect(new Set(done.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(done[0]?.status).toBe(fault.status)
    expect(upstream.requests.length).toBeLessThanOrEqual(1)
    await expectSettled(fault.settled)
  })
})

test('a caller who disconnects still pays for the answer, and gets it again with the same key', async () => {
  await begin(memoryStorage())
  const served = await serve(service, { port: 0 })
  const ask = (signal?: AbortSignal) =>
    fetch(`${served.url}/v4/paywall`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${market.payer.token}`,
        'content-type': 'application/json',
        'idempotency-key': 'once',
      },
      body: JSON.stringify(order(`${upstream.url}/slow`)),
      ...(signal && { signal }),
    })
  await expect(ask(AbortSignal.timeout(100))).rejects.toThrow()
  await expect.poll(async () => (await ask()).status).toBe(200)
  expect(await (await ask()).json()).toEqual({ slow: true })
  expect(upstream.requests).toHaveLength(1)
  await expectSettled('posted')
  await served.close()
})

test('a service that is made to call itself refuses sandbox commands from that call', async () => {
  await begin(memoryStorage())
  const served = await serve(service, { port: 0 })
  const reset = { ...order(`${served.url}/_sandbox/reset`), serviceMethod: 'POST' }
  const answer = await paywall(call, { token: market.payer.token }, reset)
  expect([answer.status, answer.body.code]).toEqual([403, 'sandbox_refused'])
  expect((await call('GET', '/v4/twins', { token: market.payer.token })).status).toBe(200)
  await served.close()
})

test('a stream that its caller abandons stays paid, and its upstream connection is closed', async () => {
  await begin(memoryStorage())
  const request = new Request(`${service.baseUrl}/v4/paywall`, {
    method: 'POST',
    headers: { authorization: `Bearer ${market.payer.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(order(`${upstream.url}/pieces`)),
  })
  const { body, headers } = await service.fetch(request)
  expect(headers.get('x-payment-status')).toBe('posted')
  const reader = body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('one')
  await reader?.cancel()
  await expectSettled('posted')
})

test('a payment that a storage failure keeps from settling is reversed once the storage works again', async () => {
  const storage = failingStorage()
  const slow = new Promise<void>((resolve) => {
    setTimeout(resolve, 100)
  })
  const failing = {
    fetch: async () => {
      await slow
      storage.failing = 'writes'
      return new Response('{}', { headers: { 'content-type': 'application/json' } })
    },
  }
  await begin(storage, { upstream: failing, log: { error: () => {} } })
  const answer = await paywall(call, { token: market.payer.token }, order(upstream.url))
  expectProblem(answer, 503, 'outcome_unknown')
  storage.failing = 'nothing'
  await advance(call, '31s')
  await expectSettled('reversed')
})

test('moving the clock during a call to a service does not reverse its payment', async () => {
  await begin(memoryStorage())
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  const answer = paywall(call, { token: market.payer.token }, order(`${upstream.url}/slow`))
  await expect.poll(() => upstream.requests.length).toBe(1)
  await advance(call, '50m')
  expect((await answer).status).toBe(200)
  await expectSettled('posted')
})

test('restoring a snapshot reverses the payment that it shows as held', async () => {
  await begin(memoryStorage())
  const answer = paywall(call, { token: market.payer.token }, order(`${upstream.url}/slow`))
  await expect.poll(() => upstream.requests.length).toBe(1)
  const snapshot = await service.sandbox.snapshot()
  expect((await answer).status).toBe(200)
  await service.sandbox.restore(snapshot)
  await expectSettled('reversed')
})

test('a call whose state is replaced while it runs is answered as reversed, and posts nothing', async () => {
  await begin(memoryStorage())
  const before = await service.sandbox.snapshot()
  const answer = paywall(call, { token: market.payer.token }, order(`${upstream.url}/slow`))
  await expect.poll(() => upstream.requests.length).toBe(1)
  await service.sandbox.restore(before)
  expectProblem(await answer, 502, 'upstream_failed')
  expect(await settledBalances(call, market)).toEqual([10, 0])
})

test('a service that closes lets its calls settle first', async () => {
  const storage = await files.open()
  await begin(storage)
  const answer = paywall(call, { token: market.payer.token }, order(`${upstream.url}/slow`))
  await expect.poll(() => upstream.requests.length).toBe(1)
  await service.close()
  expect((await answer).status).toBe(200)
  await files.closeAll()
  service = createService({ storage: await files.open(), sandbox: true })
  call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  await expectSettled('posted')
})
