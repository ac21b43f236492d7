import { afterEach, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemAlarm, systemRandom } from '../../src/base/ports.js'
import { required } from '../../src/base/required.js'
import { createService, type Service, type ServiceOptions } from '../../src/index.js'
import { StorageUnavailable } from '../../src/storage/storage.js'
import { type Call, caller } from '../support/api.js'
import { expectProblem, pay } from '../support/scenes/market.js'
import { newWebhook } from '../support/scenes/webhooks.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

const started: Service[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()))
})

function start(options: ServiceOptions = {}) {
  const service = createService({ sandbox: true, limits: { closeMs: 50 }, log: { error() {} }, ...options })
  started.push(service)
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

const fork = async (call: Call, below = ''): Promise<string> => {
  const { status, body } = await call('POST', `${below}/_sandbox/forks`)
  expect(status).toBe(201)
  return `${below}/_sandbox/forks/${body.id}`
}

const forksOf = async (call: Call): Promise<object[]> => (await call('GET', '/_sandbox/forks')).body.forks

test('streams of a fork end when it is deleted, also for a reader who is slow', async () => {
  const { service, call } = start()
  const seller = await newSeller(call)
  const place = await fork(call)
  const note = { token: seller.token, body: { type: 'client.note' } }
  for (let n = 0; n < 250; n++) await call('POST', `${place}/v4/events`, note)
  const follow = (path: string) =>
    service.fetch(place + path, { headers: { accept: 'text/event-stream', authorization: `Bearer ${seller.token}` } })
  // It is three reads behind.
  const slow = await follow('/v4/events?after=1')
  const live = Promise.all(['/v4/events', '/_sandbox/requests'].map(async (path) => (await follow(path)).text()))
  await Promise.all([call('GET', `${place}/v4/dq`), call('GET', '/v4/dq')])
  expect((await call('DELETE', place)).status).toBe(204)
  for (const text of await live) expect(text).toContain(': following')
  expect(await slow.text()).toContain('event: client.note')

  const inProcess = await service.sandbox.fork()
  const following = inProcess.sandbox.requests.follow()
  const next = following.next()
  await inProcess.close()
  expect(await next).toEqual({ done: true, value: undefined })
})

test('a storage that cannot be read refuses forks, snapshots and rewinds, and nothing half-made stays', async () => {
  const memory = memoryStorage()
  let isFailing = false
  const failing =
    <A extends unknown[], T>(work: (...given: A) => Promise<T>) =>
    (...given: A) =>
      isFailing
        ? Promise.reject(new StorageUnavailable('EROFS: read only', { reason: 'the disk is read only' }))
        : work(...given)
  const { fork: shared, ...base } = memory
  for (const parts of [{ fork: failing(required(shared, 'a fork')) }, {}]) {
    const storage = {
      ...base,
      ...parts,
      export: failing(base.export),
      import: failing(base.import),
      close: async () => {},
    }
    const { call } = start({ storage })
    await call('POST', '/_sandbox/snapshots', { body: { name: 'before' } })
    const place = await fork(call)
    isFailing = true
    expectProblem(await call('POST', '/_sandbox/forks'), 503, 'storage_unavailable')
    expectProblem(await call('POST', '/_sandbox/snapshots', { body: { name: 'after' } }), 503, 'storage_unavailable')
    expectProblem(await call('POST', '/_sandbox/rewind', { body: { to: 'before' } }), 503, 'storage_unavailable')
    isFailing = false
    expect(await forksOf(call)).toHaveLength(1)
    expect((await call('GET', '/_sandbox/snapshots')).body.snapshots).toHaveLength(1)
    expect((await call('POST', '/_sandbox/rewind', { body: { to: 'before' } })).status).toBe(204)
    expect((await call('GET', `${place}/v4/dq`)).status).toBe(200)
    await fork(call)
  }
})

test('a closed service makes no fork, and one that closes leaves none behind', async () => {
  const ringing = new Set<object>()
  const alarm = {
    set(ms: number, ring: () => void) {
      const each = {}
      const cancel = systemAlarm.set(ms, () => {
        ringing.delete(each)
        ring()
      })
      ringing.add(each)
      return () => {
        ringing.delete(each)
        cancel()
      }
    },
  }
  const { service, call } = start({ alarm })
  await fork(call)
  const late = Promise.all([
    service.sandbox.fork().then(
      (each) => each.close(),
      () => {},
    ),
    call('POST', '/_sandbox/forks'),
  ])
  await service.close()
  const [, answer] = await late
  expect([201, 503]).toContain(answer.status)
  expectProblem(await call('POST', '/_sandbox/forks'), 503, 'storage_unavailable')
  await expect(service.sandbox.fork()).rejects.toThrow('closed')
  expect([...ringing]).toEqual([])
})

test('forks that were deleted leave no alarm, and a fork is deleted once', async () => {
  let waiting = 0
  const alarm = {
    set(ms: number, ring: () => void) {
      waiting++
      let isOver = false
      const over = () => {
        if (!isOver) waiting--
        isOver = true
      }
      const cancel = systemAlarm.set(ms, () => {
        over()
        ring()
      })
      return () => {
        over()
        cancel()
      }
    },
  }
  const { service, call } = start({ alarm })
  const seller = await newSeller(call)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const before = waiting
  const places: string[] = []
  for (let n = 0; n < 100; n++) places.push(await fork(call))
  const open = await Promise.all(
    places.slice(0, 50).map((place) =>
      service.fetch(`${place}/v4/events`, {
        headers: { accept: 'text/event-stream', authorization: `Bearer ${seller.token}` },
      }),
    ),
  )
  const twice = await Promise.all(places.flatMap((place) => [call('DELETE', place), call('DELETE', place)]))
  expect(twice.filter(({ status }) => status === 204)).toHaveLength(100)
  expect(twice.filter(({ status }) => status === 404)).toHaveLength(100)
  await Promise.all(open.map((answer) => answer.text()))
  expect(await forksOf(call)).toEqual([])
  expect(waiting).toBeLessThanOrEqual(before)
})

test('forks have places of their own, even if the random source repeats itself', async () => {
  let isStuck = false
  const random = { bytes: (count: number) => (isStuck ? new Uint8Array(count) : systemRandom.bytes(count)) }
  for (const baseUrl of ['http://127.0.0.1:4242', 'http://127.0.0.1:4242/pay']) {
    isStuck = false
    const { service, call } = start({ random, baseUrl })
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller, { balance: 1 })
    isStuck = true
    const [one, two] = [await fork(call), await fork(call)]
    const inner = await fork(call, one)
    expect(new Set([one, two, inner]).size).toBe(3)
    const fund = (below: string, amount: number) =>
      call('POST', `${below}/_sandbox/fund`, { body: { hostname: payer.hostname, amount } })
    await fund(one, 1)
    await fund(two, 2)
    await fund(inner, 4)
    const balances = []
    for (const below of ['', one, two, inner]) {
      const { body } = await call('GET', `${below}/v4/twin/${payer.hostname}`, { token: payer.token })
      balances.push(Object.values(body.balances)[0])
    }
    expect(balances).toEqual([1, 2, 3, 5])
    await service.close()
  }
})

test('a path below a fork reaches nothing above it', async () => {
  const { service, call } = start()
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 1 })
  const place = await fork(call)
  const tricks = [
    '/..',
    '/../..',
    '/../../..',
    '/%2e%2e',
    '/%2E%2E/%2e%2e',
    '//..',
    '//',
    '/..%2f..',
    '/.;/..',
    '\\..\\..',
    '/./..',
  ]
  // Servers pass the target of a request on as it was sent.
  for (const trick of tricks)
    for (const control of ['/_sandbox/reset', '/_sandbox/forks'])
      for (const url of [
        `http://127.0.0.1:4242${place}${trick}${control}`,
        `http://127.0.0.1:4242/_sandbox/forks${trick}${control}`,
      ]) {
        const request = new Request('http://127.0.0.1:4242/', { method: 'POST' })
        const { status } = await service.respond(request, { peerAddress: '127.0.0.1', url })
        expect([404, 405], `${url} ${status}`).toContain(status)
      }
  expect(await forksOf(call)).toHaveLength(1)
  expect(await balanceOf(call, payer.token, payer.hostname)).toBe(1)
})

test('strangers reach nothing of a fork: other machines, other origins, rebound names', async () => {
  const { service, call } = start({ controlToken: 'the-control-token', allowOrigins: [] })
  await newSeller(call)
  const place = await fork(call)
  const ask = async (
    path: string,
    { method = 'POST', host = '127.0.0.1:4242', peerAddress = '127.0.0.1', headers = {} as Record<string, string> },
  ) => {
    const url = `http://${host}${path}`
    const request = new Request(url, { method, headers, ...(method === 'POST' && { body: '{}' }) })
    return (await service.respond(request, { peerAddress, headers: new Headers(headers) })).status
  }
  const strangers = [
    { peerAddress: '203.0.113.9' },
    { peerAddress: '203.0.113.9', headers: { 'x-control-token': 'guessed' } },
    { peerAddress: '127.0.0.1', headers: { 'x-forwarded-for': '203.0.113.9' } },
    { headers: { origin: 'https://evil.example.test' } },
    { headers: { origin: 'null' } },
    { headers: { 'sec-fetch-site': 'cross-site' } },
  ]
  const paths = [
    '/_sandbox/reset',
    '/_sandbox/forks',
    '/_sandbox/rewind',
    '/_sandbox/health',
    '/v4/account',
    '/v4/dq',
    '/nothing',
  ]
  for (const path of [...paths.map((each) => place + each), '/_sandbox/forks/fork_guessed/v4/dq']) {
    for (const stranger of strangers)
      for (const method of ['GET', 'POST', 'DELETE']) expect(await ask(path, { ...stranger, method })).toBe(403)
    expect(await ask(path, { host: 'rebound.example.test:4242' })).toBe(421)
    const preflight = { origin: 'https://evil.example.test', 'access-control-request-method': 'POST' }
    expect(await ask(path, { method: 'OPTIONS', headers: preflight })).toBe(403)
  }
  expect(
    await ask(`${place}/v4/dq`, {
      method: 'GET',
      peerAddress: '203.0.113.9',
      headers: { 'x-control-token': 'the-control-token' },
    }),
  ).toBe(200)
  expect(await forksOf(call)).toHaveLength(1)
})

test('forks of forks outlive a reset, a rewind and a restore of what they were forked from', async () => {
  const { call } = start()
  const seller = await newSeller(call)
  const commodity = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 5 })
  const paid = await call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token })
  const child = await fork(call)
  const grandchild = await fork(call, child)
  const balance = async (below: string) =>
    Object.values((await call('GET', `${below}/v4/twin/${payer.hostname}`, { token: payer.token })).body.balances)[0]
  await call('POST', '/_sandbox/rewind', { body: { to: paid.headers.get('x-request-id') } })
  await call('POST', '/_sandbox/reset')
  await call('POST', `${child}/_sandbox/reset`)
  expect((await call('GET', `${child}/v4/twin/${payer.hostname}`, { token: payer.token })).status).toBe(401)
  expect(await balance(grandchild)).toBe(4.75)
  expect((await call('POST', `${grandchild}/v4/payment/${commodity.hash}`, { token: payer.token })).status).toBe(202)
  expect(await balance(grandchild)).toBe(4.5)
  for (const below of ['', child, grandchild])
    expect((await call('GET', `${below}/_sandbox/ledger`)).body).toMatchObject({ ok: true })
})

test('a replay runs at the time and with the key of the state that it returns to', async () => {
  const { service, call } = start()
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  const seller = await newSeller(call)
  const commodity = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 5 })
  const paid = await pay(call, payer, commodity)
  // Without the key, it is unknown how it signs.
  const { id } = await newWebhook(call, seller)
  const read = await call('GET', `/v4/webhooks/${id}`, { token: seller.token })
  expect(read.body.signature).toBe('hmac-sha256')
  const proof = { nonce: paid.nonce, timestamp: paid.timestamp }
  const validated = await call('POST', `/v4/payment/${commodity.hash}/validate`, { token: seller.token, body: proof })
  expect(validated.status).toBe(200)
  const requestIds = [read, validated].map(({ headers }) => headers.get('x-request-id') ?? '')
  await service.sandbox.advance('3d')
  await service.sandbox.forgetEncryptionKey()
  for (const id of requestIds) {
    const { state, diff, entry, effects } = await service.sandbox.requests.replay(id, { in: 'fork', diff: true })
    expect([state, entry.status, diff, effects.same]).toEqual(['before', 200, [], true])
  }
})
