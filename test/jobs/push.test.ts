import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { OutboxRow } from '../../src/base/message.js'
import { createService, type PushMessage } from '../../src/index.js'
import { caller } from '../support/api.js'
import { ask, poll, registerDevice } from '../support/scenes/second-factor.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

/** A sandbox whose pushes are taken over by `send`, while the clock stands still; and a user with two devices. */
async function started(send: (push: PushMessage) => Promise<void>) {
  const storage = memoryStorage()
  const errors: string[] = []
  const log = { error: (message: string) => void errors.push(message) }
  const service = createService({ storage, push: { send }, log, sandbox: true })
  const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })
  await service.sandbox.setClock({ mode: 'manual' })
  const payer = await newPayer(call, await newSeller(call))
  const devices = [
    await registerDevice(call, payer, 'phone'),
    await registerDevice(call, payer, 'tablet', { from: 'phone' }),
  ] as const
  const rows = async () => ((await storage.export()).rows.outbox ?? []) as unknown as OutboxRow[]
  return { service, storage, errors, call, payer, devices, rows }
}

test('a push goes to each device with its own token, which is stored encrypted', async () => {
  const sent: PushMessage[] = []
  const { service, storage, call, payer } = await started(async (push) => void sent.push(push))
  const { id } = (await ask(call, payer)).body
  await service.sandbox.advance('1s')
  expect(sent).toEqual(
    ['phone', 'tablet'].map((token) => ({
      id: expect.stringMatching(/^\d+$/),
      device: { platform: 'ios', token },
      title: 'Approve or reject: “Transfer”',
      body: expect.stringContaining('“Payee: shop. example. test; Amount: 2.5; Digital quantity: USD”'),
      data: { authentication_request_id: String(id), user_id: String(payer.id), action: 'transfer' },
    })),
  )
  expect(new Set(sent.map((push) => push.id)).size).toBe(2)
  const values = JSON.stringify((await storage.export()).rows)
  for (const token of ['"phone"', '"tablet"']) expect(values).not.toContain(token)
  await service.close()
})

test('a push that cannot be sent is retried until nobody can answer it any more', async () => {
  const tries: string[] = []
  const { service, call, payer, rows, errors } = await started(async ({ id, device }) => {
    if (device.token !== 'phone') return
    tries.push(id)
    throw new Error('the push service is down')
  })
  await ask(call, payer)
  await service.sandbox.advance('1d')
  expect(tries).toHaveLength(3)
  expect(new Set(tries).size).toBe(1)
  expect(errors[0]).toMatch(/^push \d+ could not be sent and stays in the outbox/)
  const pushes = (await rows()).filter(({ kind }) => kind === 'push')
  expect(pushes.map(({ status, due_at }) => [status, due_at])).toEqual([
    ['failed', null],
    ['sent', null],
  ])
  await service.close()
})

test('an expired push is stored only in the outbox of a sandbox', async () => {
  const storage = memoryStorage()
  let now = Date.now()
  const tries: string[] = []
  const send = async ({ to }: { to: string }) => {
    tries.push(to)
    throw new Error('the mail server is down')
  }
  const service = createService({ storage, clock: { now: () => now }, mailer: { send }, log: { error: () => {} } })
  const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })
  const { email, token } = await newPayer(call, await newSeller(call))
  await ask(call, { token })
  const rows = async () => (await storage.export()).rows.outbox ?? []
  await expect.poll(() => tries).toEqual([email])
  await expect.poll(rows).toMatchObject([{ attempts: 1, claim: null }])
  now += 120_000
  await call('POST', '/v4/session/code', { body: { email: 'bob@example.test' } })
  await expect.poll(() => tries).toEqual([email, 'bob@example.test'])
  expect(await rows()).toMatchObject([{ to: 'bob@example.test' }])
  await service.close()
})

test('a phone answers no push that does not arrive', async () => {
  let down = true
  const { service, call, payer } = await started(async () => {
    if (down) throw new Error('the push service is down')
  })
  await service.sandbox.phone(payer.id).answer('approve')
  const { id } = (await ask(call, payer)).body
  await service.sandbox.advance('4s')
  expect((await poll(call, payer, id)).body.status).toBe('pending')
  down = false
  await service.sandbox.advance('2s')
  expect((await poll(call, payer, id)).body.status).toBe('approved')
  await service.close()
})

test('a removed device gets no waiting push', async () => {
  let down = true
  const tokens: string[] = []
  const { service, call, payer, devices } = await started(async ({ device }) => {
    if (down) throw new Error('the push service is down')
    tokens.push(device.token)
  })
  await ask(call, payer)
  await service.sandbox.advance('1s')
  const headers = { 'x-device-token': 'tablet' }
  await call('DELETE', `/v4/notifications/registrations/${devices[0]}`, { token: payer.token, headers })
  down = false
  await service.sandbox.advance('1m')
  expect(tokens).toEqual(['tablet'])
  await service.close()
})

test('a push that was encrypted with a different key is not sent, and the log says why', async () => {
  const { service, storage, call, payer } = await started(async () => {
    throw new Error('the push service is down')
  })
  await ask(call, payer)
  await service.sandbox.advance('1s')
  const state = await storage.export()
  const pushes = (state.rows.outbox ?? []).flatMap((row) => ('device_id' in row ? [row.id] : []))
  expect(pushes).toHaveLength(2)
  await service.close()

  const causes: unknown[] = []
  const moved = memoryStorage()
  await moved.import(state)
  const other = createService({
    storage: moved,
    encryptionKey: '0'.repeat(64),
    clock: { now: () => Date.now() + 60_000 },
    push: { send: async () => void causes.push('sent') },
    log: { error: (message) => void causes.push(message) },
  })
  await other.ready()
  await expect
    .poll(() => causes.filter((cause) => String(cause).startsWith('push')))
    .toEqual(pushes.map((id) => `push ${id} is encrypted under another key and is not sent`))
  await other.close()
})

test("a service without a sandbox does not play a sandbox's phones", async () => {
  const { service, storage, call, payer } = await started(async () => {})
  await service.sandbox.phone(payer.id).answer('approve', { afterSeconds: 60 })
  await ask(call, payer)
  await service.sandbox.advance('1s')
  const state = await storage.export()
  // One answers on each device, and one sweeps.
  expect(state.rows.timers).toHaveLength(3)
  await service.close()

  const later = Date.now() + 90_000
  const real = memoryStorage()
  await real.import(state)
  const serious = createService({ storage: real, clock: { now: () => later } })
  await serious.ready()
  await expect.poll(async () => (await real.export()).rows.timers).toMatchObject([{ kind: 'sweep' }])
  expect((await real.export()).rows.authentication_requests).toMatchObject([{ status: 'pending', answered_at: null }])
  await serious.close()
})
