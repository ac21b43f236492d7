import { expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { OutboxRow } from '../../src/base/message.js'
import { type Alarm, createService, type Mail, type Random, type ServiceOptions } from '../../src/index.js'
import { postMail } from '../../src/jobs/outbox/outbox.js'
import type { Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { basic } from '../support/scenes/world.js'

/** A storage that outlives the services on it. */
const keptOpen = (storage: Storage): Storage => ({ ...storage, close: async () => {} })

/** Draws half of the greatest jitter. */
const halfRandom: Random = { bytes: (count) => new Uint8Array(count).fill(0x80, 0, 1) }

/** A service whose mail is taken over by `send`. */
function started(send: (mail: Mail) => Promise<void>, options: ServiceOptions = {}) {
  const storage = options.storage ?? memoryStorage()
  const errors: string[] = []
  const log = { error: (message: string) => void errors.push(message) }
  const service = createService({ mailer: { send }, log, ...options, storage })
  const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })
  const askCode = (email: string) => call('POST', '/v4/session/code', { body: { email } })
  return { service, storage, errors, call, askCode, rows: async () => (await storage.export()).rows.outbox ?? [] }
}

test('mail is sent after its write lands, with its id as the key, and is not stored afterwards', async () => {
  const sent: Mail[] = []
  const { askCode, rows, storage } = started(async (mail) => {
    expect((await storage.export()).rows.outbox).toHaveLength(1)
    sent.push(mail)
  })
  await askCode('ada@example.test')
  await vi.waitUntil(async () => (await rows()).length === 0)
  expect(sent).toEqual([{ id: '1', to: 'ada@example.test', subject: expect.any(String), text: expect.any(String) }])
})

test('mail that cannot be sent delays no other mail, and is retried with the same id and growing delays', async () => {
  let down = true
  const tries: string[] = []
  const { service, askCode, rows, errors } = started(
    async ({ id, to }) => {
      if (to === 'ada@example.test') tries.push(`${id} at ${service.sandbox.clock().now}`)
      if (down && to === 'ada@example.test') throw new Error('the mail server is down')
    },
    { sandbox: true },
  )
  await service.sandbox.setClock({ mode: 'manual' })
  await service.sandbox.setClock({ set: 0 })
  await askCode('ada@example.test')
  await askCode('bob@example.test')
  await service.sandbox.advance('1s')
  expect((await rows()).map((row) => [row.id, (row as OutboxRow).status])).toEqual([
    [1, 'pending'],
    [2, 'sent'],
  ])
  expect(errors[0]).toContain('mail 1 could not be sent and stays in the outbox')
  await service.sandbox.advance('2h')
  down = false
  await service.sandbox.advance('2d')
  const at = (time: string) => `1 at 1970-01-01T${time}.000Z`
  expect(tries).toEqual(['00:00:00', '00:00:05', '00:00:35', '00:02:35', '00:12:35', '01:12:35', '07:12:35'].map(at))
  expect((await rows()).map((row) => (row as OutboxRow).status)).toEqual(['sent', 'sent'])
  await service.close()
})

test('mail that cannot be sent for days is given up', async () => {
  let tries = 0
  const { service, askCode, rows, errors } = started(
    async () => {
      tries++
      throw new Error('nobody is there')
    },
    { sandbox: true },
  )
  await service.sandbox.setClock({ mode: 'manual' })
  await askCode('ada@example.test')
  await service.sandbox.advance('30d')
  expect(tries).toBe(16)
  expect(errors.at(-1)).toContain('is given up')
  expect(await rows()).toMatchObject([{ status: 'failed', due_at: null }])
  await service.close()
})

test('a real clock rings for mail that is to be tried again', async () => {
  let now = 0
  const rings: { ms: number; ring: () => void }[] = []
  const alarm = { set: (ms: number, ring: () => void) => rings.push({ ms, ring }) && (() => {}) }
  const sent: string[] = []
  const { askCode, service } = started(
    async ({ id }) => {
      if (now === 0) throw new Error('down')
      sent.push(id)
    },
    { clock: { now: () => now }, alarm: alarm as unknown as Alarm, random: halfRandom },
  )
  await askCode('ada@example.test')
  await vi.waitUntil(() => rings.some(({ ms }) => ms === 5625))
  now = 5625
  rings.find(({ ms }) => ms === 5625)?.ring()
  await vi.waitUntil(() => sent.length > 0)
  await service.close()
})

test('the next service sends mail that an ended one left behind, when it is due', async () => {
  const storage = memoryStorage()
  const first = started(() => Promise.reject(new Error('down')), { storage: keptOpen(storage) })
  await first.askCode('ada@example.test')
  await first.service.close()
  const sent: string[] = []
  const later = { now: () => Date.now() + 10_000 }
  const second = started(async ({ to }) => void sent.push(to), { storage: keptOpen(storage), clock: later })
  await second.service.ready()
  await vi.waitUntil(() => sent.length > 0)
  expect(sent).toEqual(['ada@example.test'])
  await second.service.close()
  expect((await storage.export()).rows.outbox).toBeUndefined()
})

test('the owner of the address gets an event when the mail is sent', async () => {
  let down = true
  const { service, call, askCode } = started(
    async () => {
      if (down) throw new Error('down')
    },
    { sandbox: true },
  )
  await service.sandbox.setClock({ mode: 'manual' })
  const { users } = await service.sandbox.seed({ users: [{ email: 'ada@example.test' }] })
  const told = async () => {
    const headers = basic(users[0]?.client_id ?? '', users[0]?.client_secret ?? '')
    const token = (await call('POST', '/v4/user/oauth/token', { headers })).body.access_token
    return (await call('GET', '/v4/events?type=email.sent', { token })).body.events
  }
  await askCode('ada@example.test')
  await askCode('nobody@example.test')
  await service.sandbox.advance('1s')
  expect(await told()).toEqual([])
  down = false
  await service.sandbox.advance('10m')
  expect(await told()).toMatchObject([
    { actor: 'service', subject: 'message:1', data: { subject: '······ is your sign-in code' } },
  ])
  await service.close()
})

test('closing waits for the mail that is being sent', async () => {
  let sent = false
  const { service, askCode } = started(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    sent = true
  })
  await askCode('ada@example.test')
  await service.close()
  expect(sent).toBe(true)
})

for (const forget of ['emptyOutbox', 'reset'] as const)
  test(`${forget} while mail is being sent brings nothing of it back`, async () => {
    let release = () => {}
    const begun = vi.fn()
    const { service, askCode, rows } = started(
      async () => {
        begun()
        await new Promise<void>((resolve) => (release = resolve))
      },
      { sandbox: true },
    )
    await askCode('ada@example.test')
    await vi.waitUntil(() => begun.mock.calls.length > 0)
    await service.sandbox[forget]()
    release()
    await service.sandbox.outbox()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await rows()).toEqual([])
    await service.close()
  })

test('mail sent since a reset is sent, though it has the id of one that was being sent', async () => {
  const releases: (() => void)[] = []
  const sent: string[] = []
  const { service, askCode } = started(
    async ({ id, to }) => {
      sent.push(`${id} ${to}`)
      if (to === 'ada@example.test') await new Promise<void>((resolve) => releases.push(resolve))
    },
    { sandbox: true },
  )
  await askCode('ada@example.test')
  await vi.waitUntil(() => releases.length > 0)
  await service.sandbox.reset()
  await askCode('bob@example.test')
  releases[0]?.()
  await vi.waitUntil(() => sent.length > 1)
  expect(sent).toEqual(['1 ada@example.test', '1 bob@example.test'])
  await service.close()
})

test('the sandbox stores sent mail, and parses its codes and links', async () => {
  const { service, storage } = started(async () => {}, { sandbox: true })
  await service.ready()
  const text =
    'Your code is 123456 (not 1234567). Claim it at http://127.0.0.1:4242/claim/654321?a=b, or see https://a.test/x.'
  const at = Date.now()
  await storage.write((tx) => postMail(tx, { to: 'ada@example.test', subject: 'Hello', text, at }))
  const { messages } = await service.sandbox.outbox({ to: 'ada@example.test' })
  expect(messages[0]).toMatchObject({
    codes: ['123456'],
    links: ['http://127.0.0.1:4242/claim/654321?a=b', 'https://a.test/x'],
  })
  await service.close()
})
