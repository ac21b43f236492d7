import { expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type ServiceOptions } from '../../src/index.js'
import { type Storage, StorageUnavailable } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { sampleIn } from '../support/open-metrics.js'
import { newPayer, newSeller } from '../support/scenes/world.js'
import { countingStorage } from '../support/storage/counting-storage.js'

function start(options: ServiceOptions = {}) {
  const service = createService({ sandbox: true, limits: { closeMs: 50 }, log: { error() {} }, ...options })
  onTestFinished(() => service.close())
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

const OPEN = 'farthing_open_streams{operation="listEvents"}'

test('counts an event stream until its reader leaves', async () => {
  const { service, call } = start()
  const { token } = await newSeller(call)
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const open = async () => sampleIn(await service.sandbox.metrics(), OPEN)
  const streams = await Promise.all([1, 2].map(() => service.fetch('/v4/events', { headers })))
  expect(await open()).toBe(2)
  await streams[0]?.body?.cancel()
  expect(await open()).toBe(1)
  // One that fails or is cut off is not open either.
  const aborted = new AbortController()
  const third = await service.fetch('/v4/events', { headers, signal: aborted.signal })
  expect(await open()).toBe(2)
  aborted.abort()
  await expect(third.text()).rejects.toThrow()
  await streams[1]?.body?.cancel()
  expect(await open()).toBeUndefined()
})

test('counts a stream that the service ends as closed', async () => {
  const { service, call } = start()
  const { token } = await newSeller(call)
  const ending = new AbortController()
  const request = new Request(`${service.baseUrl}/v4/events`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
  })
  const stream = await service.respond(request, { ending: ending.signal })
  expect(sampleIn(await service.sandbox.metrics(), OPEN)).toBe(1)
  ending.abort()
  expect(await stream.text()).toContain('following')
  expect(sampleIn(await service.sandbox.metrics(), OPEN)).toBeUndefined()
})

test('counts what faults drop', async () => {
  const { service, call } = start()
  await expect(call('GET', '/v4/dq', { headers: { 'x-sandbox-fault': 'before; drop' } })).rejects.toThrow()
  const dropped = 'farthing_requests_total{operation="listDigitalQuantities",status="0"}'
  expect(sampleIn(await service.sandbox.metrics(), dropped)).toBe(1)
})

test('counts commits and the bodies that ran again, but no write that changed nothing', async () => {
  const inner = memoryStorage()
  let isContended = false
  const storage: Storage = {
    ...inner,
    write: async (body) => {
      if (isContended)
        await inner.write((tx) => body(tx).then(() => Promise.reject(new Error('again')))).catch(() => {})
      return inner.write(body)
    },
  }
  const { service, call } = start({ storage })
  await service.ready()
  const counts = async () => {
    const text = await service.sandbox.metrics()
    return ['commits', 'reruns'].map((name) => sampleIn(text, `farthing_storage_${name}_total`) ?? 0)
  }
  const [commits = 0, reruns = 0] = await counts()
  await call('GET', '/v4/dq')
  expect(await counts()).toEqual([commits, reruns])
  isContended = true
  expect((await call('POST', '/v4/account')).status).toBe(201)
  isContended = false
  const [after = 0, again = 0] = await counts()
  expect(after - commits).toBeGreaterThanOrEqual(1)
  expect(again - reruns).toBe(after - commits)
})

test('a scrape costs the same however large the ledger is, and audits it once until the result is old', async () => {
  let now = Date.UTC(2031, 0)
  const storage = countingStorage()
  const { service, call } = start({ storage, clock: { now: () => now } })
  const { hostname } = await newPayer(call, await newSeller(call), { balance: 1 })
  const fund = (times: number) =>
    Promise.all(Array.from({ length: times }, () => service.sandbox.fund({ hostname, amount: 1 })))
  const scrape = async () => {
    await service.sandbox.ledger()
    storage.calls = 0
    await service.sandbox.metrics()
    return storage.calls
  }
  await fund(1)
  const small = await scrape()
  await fund(600)
  expect(await scrape()).toBe(small)
  expect(small).toBeGreaterThan(0)
  const movements = async () => sampleIn(await service.sandbox.metrics(), 'farthing_ledger_movements')
  const known = await movements()
  await fund(1)
  now += 9 * 60_000
  await movements()
  expect(await movements()).toBe(known)
  now += 60_000
  expect(await movements()).toBe(known)
  await expect.poll(movements).toBe((known ?? 0) + 1)
})

test('answers while the storage does not, without what is stored there', async () => {
  const inner = memoryStorage()
  let isBroken = false
  const fail = () => Promise.reject(new StorageUnavailable('The disk is gone.'))
  const storage: Storage = {
    ...inner,
    get fault() {
      return isBroken ? new StorageUnavailable('The disk is gone.') : undefined
    },
    read: (body) => (isBroken ? fail() : inner.read(body)),
    write: (body) => (isBroken ? fail() : inner.write(body)),
  }
  const { call } = start({ storage })
  await call('GET', '/v4/dq')
  isBroken = true
  expect((await call('GET', '/v4/dq')).status).toBe(503)
  const { status, text } = await call('GET', '/metrics')
  expect(status).toBe(200)
  expect(sampleIn(text, 'farthing_storage_writable')).toBe(0)
  expect(sampleIn(text, 'farthing_requests_total{operation="listDigitalQuantities",status="503"}')).toBe(1)
  expect(text).not.toContain('farthing_outbox')
})

test('answers before the service has started', async () => {
  const inner = memoryStorage()
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  const storage: Storage = { ...inner, write: (body) => opened.then(() => inner.write(body)) }
  const { call } = start({ storage, journal: false })
  onTestFinished(open)
  const { status, text } = await call('GET', '/metrics')
  expect(status).toBe(200)
  expect(sampleIn(text, 'farthing_waiting_requests')).toBe(0)
  expect(text).not.toContain('farthing_journal')
})

test('measures a fork apart from its parent', async () => {
  const { service, call } = start()
  await call('GET', '/v4/dq')
  const fork = await service.sandbox.fork()
  onTestFinished(() => fork.close())
  const counted = 'farthing_requests_total{operation="listDigitalQuantities",status="200"}'
  expect(sampleIn(await fork.sandbox.metrics(), counted)).toBeUndefined()
  await fork.fetch('/v4/dq')
  await fork.fetch('/v4/dq')
  expect(sampleIn(await fork.sandbox.metrics(), counted)).toBe(2)
  expect(sampleIn(await service.sandbox.metrics(), counted)).toBe(1)
  const { url } = (await call('POST', '/_sandbox/forks')).body
  const served = await service.fetch(`${url}/metrics`)
  expect(served.status).toBe(200)
  expect(sampleIn(await served.text(), counted)).toBeUndefined()
})
