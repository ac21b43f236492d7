import { expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Fault, type ServiceOptions } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newItem, purchase } from '../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger, stopClock } from '../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

/** A service whose ports write down what reaches them, with a seller, a payer who holds 10, and an article for 1. */
async function start(options: Partial<ServiceOptions> = {}) {
  const mails: string[] = []
  const charges: string[] = []
  const calls: string[] = []
  const service = createService({
    sandbox: true,
    storage: memoryStorage({ rerun: true }),
    log: { error() {} },
    mailer: { send: async ({ id }) => void mails.push(id) },
    cards: {
      save: async () => ({ status: 'unavailable' }),
      async charge({ id }) {
        charges.push(id)
        return { status: 'succeeded', charge_id: `ch_${id}` }
      },
      refund: async ({ id }) => ({ status: 'refunded', refund_id: id }),
    },
    upstream: {
      async fetch({ url }) {
        calls.push(new URL(url).pathname)
        return Response.json({ warm: true })
      },
    },
    ...options,
  })
  onTestFinished(() => service.close())
  const { sandbox } = service
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  await stopClock(call)
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 10 })
  const article = await newCommodity(call, seller, { cost: 1 })
  return {
    ...{ service, sandbox, call, seller, payer, article, mails, charges, calls },
    arm: (match: Fault['match'], at: Fault['at'], action: Fault['do'], more: Partial<Fault> = {}) =>
      sandbox.faults.arm({ match, at, do: action, times: 1, ...more }),
    pay: (key?: string) =>
      call('POST', `/v4/payment/${article.hash}`, {
        ...{ token: payer.token, body: {} },
        ...(key !== undefined && { headers: { 'idempotency-key': key } }),
      }),
    balance: () => balanceOf(call, payer.token, payer.hostname),
  }
}

const sendCode = ({ call }: Pick<Awaited<ReturnType<typeof start>>, 'call'>) =>
  call('POST', '/v4/session/code', { body: { email: 'ada@example.test' } })

test.each([
  ['before', { error: 'ECONNREFUSED' }, [0, 1]],
  ['before', { drop: true }, [0, 1]],
  ['after_commit', { drop: true }, [1, 2]],
  ['after_commit', { duplicate: true }, [2, 2]],
  ['before', { delay_ms: 0 }, [1, 1]],
] as const)(
  'a mail %s %j reaches the mailer so often, now and after the retry: %j',
  async (at, action, [first, then]) => {
    const started = await start()
    const { mails, arm, sandbox } = started
    await arm({ port: 'mail' }, at, action)
    await sendCode(started)
    await sandbox.advance('1s')
    expect(mails).toHaveLength(first)
    await sandbox.advance('1m')
    expect(mails).toHaveLength(then)
    // Every try of one message has the same id, by which the mailer knows it.
    expect(new Set(mails).size).toBe(1)
    expect((await sandbox.faults.list()).map(({ fired }) => fired)).toEqual([1])
  },
)

test('a card that is charged although the answer is lost is charged again with the same id, and issues once', async () => {
  const { call, payer, charges, arm, sandbox, balance } = await start()
  await arm({ port: 'card' }, 'after_commit', { drop: true })
  const order = { amount: 5, payment_method_id: 'pm_1' }
  const { status } = await call('POST', `/v4/twin/${payer.hostname}/topup`, { token: payer.token, body: order })
  // 502: the charge has no outcome yet.
  expect([status, charges.length, await balance()]).toEqual([502, 1, 10])
  await sandbox.advance('1m')
  expect([charges.length, new Set(charges).size, await balance()]).toEqual([2, 1, 15])
  await expectSoundLedger(call)
})

test('an upstream call answers as the fault says, fails, or is made twice, if its path matches', async () => {
  const { call, seller, payer, calls, arm, balance } = await start()
  const item = await newItem(call, seller, { price: 1, service_schema: { type: 'object', properties: {} } })
  const buy = async () => (await purchase(call, { token: payer.token }, item)).status
  const port = 'upstream'
  await arm({ port, path: '/weather', method: 'GET' }, 'before', { status: 503 })
  expect([await buy(), calls.length, await balance()]).toEqual([502, 0, 10])
  await arm({ port }, 'after_commit', { drop: true })
  expect([await buy(), calls.length, await balance()]).toEqual([502, 1, 10])
  await arm({ port }, 'after_commit', { duplicate: true })
  expect([await buy(), calls.length, await balance()]).toEqual([201, 3, 9])
  await arm({ port, path: '/other' }, 'before', { error: 'ECONNREFUSED' })
  await arm({ port: 'webhook' }, 'before', { error: 'ECONNREFUSED' })
  expect([await buy(), calls.length, await balance()]).toEqual([201, 4, 8])
  await expectSoundLedger(call)
})

test('a write that the storage refuses stores nothing, and the health check says why until a write succeeds', async () => {
  const { call, arm, pay, balance, sandbox } = await start()
  await arm({ port: 'storage' }, 'before', { error: 'ENOSPC' }, { times: 2 })
  const refused = await pay()
  expectProblem(refused, 503, 'storage_unavailable')
  expect([refused.body.error, refused.headers.get('retry-after')]).toEqual([
    expect.stringContaining('the disk is full'),
    '5',
  ])
  expect(await balance()).toBe(10)
  expect(sandbox.health()).toMatchObject({ ok: false, fault: 'the disk is full' })
  expectProblem(await call('GET', '/_sandbox/health'), 503, 'storage_unavailable')
  // A refusal changes nothing, so no disk is in its way.
  expectProblem(await call('POST', '/v4/commodity', { body: {} }), 401, 'authorization_missing')
  expect((await pay()).status).toBe(503)
  expect((await pay()).status).toBe(202)
  expect(sandbox.health().ok).toBe(true)
  expect(await balance()).toBe(9)
  await expectSoundLedger(call)
})

test('a write whose outcome nobody knows is stored, and a retry with its key pays once', async () => {
  const { call, arm, pay, balance } = await start()
  await arm({ port: 'storage' }, 'after_commit', { error: 'EIO' })
  expectProblem(await pay('once and only once'), 503, 'outcome_unknown')
  const again = await pay('once and only once')
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
  expect(await balance()).toBe(9)
  await expectSoundLedger(call)
})

test('a push that is lost is sent again with its id', async () => {
  const pushes: string[] = []
  const { sandbox, call, payer, arm } = await start({ push: { send: async ({ id }) => void pushes.push(id) } })
  await sandbox.phone(payer.id).answer('ignore')
  await arm({ port: 'push' }, 'after_commit', { error: 'ETIMEDOUT' })
  const body = { action: 'transfer', detail: { amount: 1 } }
  expect((await call('POST', '/v4/authentication-requests', { token: payer.token, body })).status).toBe(201)
  await sandbox.advance('1s')
  expect(pushes).toHaveLength(1)
  await sandbox.advance('30s')
  expect([pushes.length, new Set(pushes).size]).toEqual([2, 1])
})

test('a remote caller needs the control token for the header, and their own token is none', async () => {
  const controlToken = 'c'.repeat(32)
  const { service, payer, article, balance } = await start({ controlToken })
  const ask = async (headers: Record<string, string>) => {
    const request = new Request(`${service.baseUrl}/v4/payment/${article.hash}`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${payer.token}`, 'content-type': 'application/json' },
        ...{ 'x-sandbox-fault': 'after_commit; status=503', ...headers },
      },
      body: '{}',
    })
    return (await service.respond(request, { peerAddress: '10.0.0.7' })).status
  }
  expect(await ask({})).toBe(403)
  expect(await ask({ 'x-control-token': 'd'.repeat(32) })).toBe(403)
  expect(await balance()).toBe(10)
  expect(await ask({ 'x-control-token': controlToken })).toBe(503)
  expect(await balance()).toBe(9)
})

test('a wrong fault in a seed is refused by its path, and nothing of the seed is stored', async () => {
  const wrong = { match: {}, at: 'before', do: { duplicate: true } } as const
  expect(() => createService({ sandbox: true, seed: { faults: [wrong] } })).toThrow(
    'seed.faults[0].at must be "after_commit" for "duplicate" of a request',
  )
  const storage = memoryStorage()
  const unknown = { match: { operation_id: 'createPaymnet' }, at: 'before', do: { drop: true } } as const
  const users = [{ email: 'ada@example.test' }]
  const service = createService({ sandbox: true, storage, seed: { users, faults: [unknown] } })
  onTestFinished(() => service.close())
  await expect(service.ready()).rejects.toMatchObject({
    code: 'field_invalid',
    fields: { field: 'faults.0.match.operation_id' },
  })
  expect((await storage.export()).rows).toEqual({})
})

test('the same run has the same faults, in a second service too', async () => {
  const run = async () => {
    const flaky = { match: {}, at: 'before', do: { status: 503 }, probability: 0.3 } as const
    const slow = { match: { method: 'GET' }, at: 'mid_body', do: { truncate: 1 }, probability: 0.5 } as const
    const service = createService({ sandbox: true, seed: { faults: [flaky, slow] } })
    onTestFinished(() => service.close())
    const seen: string[] = []
    for (let n = 0; n < 40; n++) {
      const answer = await service.fetch('/v4/dq')
      seen.push(`${answer.status} ${(await answer.text().catch(() => 'cut')).length}`)
    }
    return { seen, fired: (await service.sandbox.faults.list()).map(({ fired }) => fired) }
  }
  const first = await run()
  expect(new Set(first.seen).size).toBe(3)
  expect(await run()).toEqual(first)
})

test('a service without a sandbox ignores the header', async () => {
  const service = createService()
  onTestFinished(() => service.close())
  const answer = await service.fetch('/v4/dq', { headers: { 'x-sandbox-fault': 'before; drop' } })
  expect(answer.status).toBe(200)
})

test('delays wait by the alarm of the service', async () => {
  const waits: number[] = []
  const alarm = {
    set(ms: number, ring: () => void) {
      // The service's own work looks around every minute.
      if (ms >= 60_000) return () => {}
      waits.push(ms)
      queueMicrotask(ring)
      return () => {}
    },
  }
  const service = createService({ sandbox: true, alarm })
  onTestFinished(() => service.close())
  await service.ready()
  const read = async (fault: string) => {
    waits.length = 0
    return (await service.fetch('/v4/dq', { headers: { 'x-sandbox-fault': fault } })).text()
  }
  const whole = await read('before; delay_ms=1234')
  expect(waits).toEqual([1234])
  expect([await read('mid_body; drip=100'), waits.length]).toEqual([whole, Math.ceil(whole.length / 10)])
  expect(waits.reduce((sum, ms) => sum + ms)).toBeCloseTo(whole.length * 10)
})

test('a dropped answer rejects like the fetch of the platform, with a TypeError', async () => {
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  const asked = service.fetch('/v4/dq', { headers: { 'x-sandbox-fault': 'after_commit; drop' } })
  await expect(asked).rejects.toThrow(TypeError)
  await expect(asked).rejects.toThrow('The fault "header" of this sandbox closed the connection.')
})

/** The entries of deliveries and timers of a kind, the oldest first: the fault of each, and how it ended. */
async function worked({ sandbox }: Pick<Awaited<ReturnType<typeof start>>, 'sandbox'>, kind: string) {
  const { requests } = await sandbox.requests.list({ operation_id: kind, limit: 100 })
  return requests.toReversed().map(({ fault, code }) => [fault, code])
}

test('a fault of a port is named by the entry of the delivery that it happens to, and by no other one', async () => {
  const started = await start({ push: { send: async () => {} } })
  const { sandbox, call, payer, arm } = started
  await sandbox.phone(payer.id).answer('ignore')
  await arm({ port: 'mail' }, 'before', { error: 'ECONNREFUSED' }, { id: 'no-mail' })
  await arm({ port: 'push' }, 'after_commit', { drop: true }, { id: 'no-push' })
  await arm({ port: 'card' }, 'after_commit', { duplicate: true }, { id: 'twice' })
  await sendCode(started)
  const body = { action: 'transfer', detail: { amount: 1 } }
  await call('POST', '/v4/authentication-requests', { token: payer.token, body })
  const order = { amount: 5, payment_method_id: 'pm_1' }
  await call('POST', `/v4/twin/${payer.hostname}/topup`, { token: payer.token, body: order })
  await sandbox.advance('1m')
  expect(await worked(started, 'mail')).toEqual([
    ['no-mail', 'failed'],
    [undefined, undefined],
  ])
  expect(await worked(started, 'push')).toEqual([
    ['no-push', 'failed'],
    [undefined, undefined],
  ])
  expect(await worked(started, 'card')).toEqual([['twice', undefined]])
})

test('a request names the fault of the upstream call that it makes', async () => {
  const started = await start()
  const { call, seller, payer, arm } = started
  const item = await newItem(call, seller, { price: 1, service_schema: { type: 'object', properties: {} } })
  await arm({ port: 'upstream' }, 'before', { status: 503 }, { id: 'upstream-down' })
  for (const status of [502, 201]) expect((await purchase(call, { token: payer.token }, item)).status).toBe(status)
  expect(await worked(started, 'createPurchase')).toEqual([
    ['upstream-down', 'upstream_failed'],
    [undefined, undefined],
  ])
})

test('a delivery and a timer name the fault of the storage that records them', async () => {
  const started = await start()
  const { sandbox, call, payer, arm } = started
  const invite = (address: string) => call('POST', '/v4/transfer', { token: payer.token, body: { address, amount: 1 } })
  await arm({ port: 'mail' }, 'before', { error: 'ECONNREFUSED' })
  expect((await invite('friend@example.test')).status).toBe(201)
  // The first write of the move claims the mail, the second one records it.
  await arm({ port: 'storage' }, 'before', { error: 'EIO' }, { id: 'unrecorded', every: 2 })
  await sandbox.advance('1m')
  expect(await worked(started, 'mail')).toEqual([
    ['fault_1', 'failed'],
    ['unrecorded', undefined],
  ])
  // The timers that are due together, and then the first of them alone.
  await arm({ port: 'storage' }, 'before', { error: 'EIO' }, { id: 'untimely', times: 2 })
  await sandbox.advance('40d')
  const { requests } = await sandbox.requests.list({ limit: 1000 })
  const failed = requests.filter(({ fault }) => fault === 'untimely')
  expect(failed.map(({ origin, code }) => [origin, code])).toContainEqual(['timer', 'failed'])
  expect(new Set(failed.map(({ origin }) => origin))).toEqual(new Set(['timer']))
  await expectSoundLedger(call)
})
