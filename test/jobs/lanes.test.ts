import { afterEach, expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Mail, type Service, type ServiceOptions } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { fastAlarm, gate } from '../support/scenes/card-service.js'
import { ask, poll, registerDevice } from '../support/scenes/second-factor.js'
import { countingWrites, stateOf, waitingMails } from '../support/scenes/waiting-mails.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

/** Waits longer than a busy machine takes. */
const until = (check: () => unknown) => vi.waitUntil(check)

const started: Service[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()))
})

const never = () => new Promise<never>(() => {})

/** A service over a storage, which collects its log lines. */
function start(options: ServiceOptions) {
  const logged: string[] = []
  const service = createService({
    limits: { closeMs: 20 },
    log: { error: (line) => void logged.push(line) },
    ...options,
  })
  started.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  return { service, call, logged, askCode: (email: string) => call('POST', '/v4/session/code', { body: { email } }) }
}

/** A mailer that counts, and answers when the test says so. */
function gated(isHeld: (mail: Mail) => boolean = () => true) {
  const sent: string[] = []
  const { opened, open } = gate()
  let now = 0
  const seen = { sent, open, atOnce: 0 }
  const send = async (mail: Mail) => {
    seen.atOnce = Math.max(seen.atOnce, ++now)
    sent.push(mail.to)
    if (isHeld(mail)) await opened
    now--
  }
  return { ...seen, seen, mailer: { send } }
}

test('mails leave 64 at a time, and one transaction records a batch and claims the next', async () => {
  const inner = memoryStorage()
  await inner.import(stateOf(waitingMails(640)))
  const { storage, counted } = countingWrites(inner)
  const sent: string[] = []
  const waiting: (() => void)[] = []
  const batches: number[] = []
  const send = ({ to }: Mail) => {
    sent.push(to)
    return new Promise<void>((resolve) => waiting.push(resolve))
  }
  const { service } = start({ storage, mailer: { send } })
  await service.ready()
  for (let batch = 0; batch < 10; batch++) {
    await until(() => sent.length === 64 * (batch + 1))
    batches.push(waiting.length)
    for (const answer of waiting.splice(0)) answer()
  }
  await until(async () => ((await inner.export()).rows.outbox ?? []).length === 0)
  expect(new Set(sent).size).toBe(640)
  expect(batches).toEqual(Array(10).fill(64))
  expect(counted.outbox).toBe(11)
})

test('the earliest mails leave first', async () => {
  const storage = memoryStorage()
  const mails = waitingMails(100).map((mail) => ({ ...mail, due_at: 1000 - mail.id }))
  await storage.import(stateOf(mails))
  const { sent, seen, mailer } = gated()
  const { service } = start({ storage, mailer })
  await service.ready()
  await until(() => sent.length === 64)
  expect(sent).toEqual(Array.from({ length: 64 }, (_, n) => `reader-${100 - n}@example.test`))
  seen.open()
})

test('a sign-in code leaves while every place of other mails is taken by a mailer that hangs', async () => {
  const storage = memoryStorage()
  await storage.import(stateOf(waitingMails(1000)))
  const { sent, mailer } = gated(({ to }) => to !== 'ada@example.test')
  const { service, askCode } = start({ storage, mailer })
  await service.ready()
  await until(() => sent.length === 64)
  await askCode('ada@example.test')
  await until(() => sent.length === 65)
  expect(sent.at(-1)).toBe('ada@example.test')
})

test('hanging mails of a kind take 32 places for awaited ones and 64 for the others, and no more', async () => {
  const storage = memoryStorage()
  await storage.import(stateOf([...waitingMails(200, { lane: 'awaited' }), ...waitingMails(300).slice(200)]))
  const { sent, seen, mailer } = gated()
  const { service } = start({ storage, mailer })
  await service.ready()
  await until(() => sent.length === 96)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(seen.atOnce).toBe(96)
})

test('a mailer that hangs stops neither pushes, nor cards, nor timers, nor closing', async () => {
  const pushes: string[] = []
  const push = { send: async ({ id }: { id: string }) => void pushes.push(id) }
  const { service, call, askCode } = start({ sandbox: true, mailer: { send: never }, push })
  const payer = await newPayer(call, await newSeller(call))
  await registerDevice(call, payer, 'phone')
  await service.sandbox.phone(payer.id).answer('approve', { afterSeconds: 0 })
  for (let each = 0; each < 5; each++) await askCode(`reader-${each}@example.test`)
  const card = { amount: 5, payment_method_id: 'pm_card_visa' }
  expect((await call('POST', `/v4/twin/${payer.hostname}/topup`, { token: payer.token, body: card })).status).toBe(201)
  const { id } = (await ask(call, payer)).body
  await until(() => pushes.length > 0)
  // A timer plays the phone.
  await until(async () => (await poll(call, payer, id)).body.status === 'approved')
  await service.close()
})

test('one mail whose outcome cannot be recorded undoes no other of its batch', async () => {
  const inner = memoryStorage()
  await inner.import(stateOf(waitingMails(10)))
  const storage = {
    ...inner,
    // Recording the outcome of mail 5 reads the user of its address.
    write: ((body) =>
      inner.write((tx) =>
        body({
          get: (from, id) => tx.get(from, id),
          getMany: (from, ids) => tx.getMany(from, ids),
          find: (from, query) => {
            if (query.prefix[0] === 'reader-5@example.test') throw new Error('on purpose')
            return tx.find(from, query)
          },
          nextId: (of) => tx.nextId(of),
          nextIds: (of) => tx.nextIds(of),
          put: (into, row) => tx.put(into, row),
          remove: (from, id) => tx.remove(from, id),
        }),
      )) as typeof inner.write,
  }
  const sent: string[] = []
  const { service, logged } = start({ storage, mailer: { send: async ({ to }) => void sent.push(to) } })
  await service.ready()
  await until(async () => ((await inner.export()).rows.outbox ?? []).length === 1)
  expect((await inner.export()).rows.outbox).toMatchObject([{ id: 5, attempts: 1, status: 'pending', claim: null }])
  expect(sent).toHaveLength(10)
  expect(logged).toEqual(['the outcome of mail 5 could not be recorded and is tried again'])
})

test('what was under way at a kill is sent at once by the next start, with the same ids', async () => {
  const storage = { ...memoryStorage(), close: async () => {} }
  await storage.import(stateOf(waitingMails(10)))
  const killed = start({ storage, mailer: { send: never } })
  await killed.service.ready()
  await until(async () => ((await storage.export()).rows.outbox ?? []).every((row) => 'claim' in row))
  const ids: string[] = []
  const next = start({ storage, mailer: { send: async ({ id }) => void ids.push(id) } })
  await next.service.ready()
  await until(() => ids.length === 10)
  expect(ids).toEqual(Array.from({ length: 10 }, (_, n) => String(n + 1)))
})

test('closing leaves what hangs to the next start, and records what has ended', async () => {
  const storage = { ...memoryStorage(), close: async () => {} }
  await storage.import(stateOf(waitingMails(3)))
  const { sent, mailer } = gated(({ to }) => to === 'reader-2@example.test')
  const first = start({ storage, mailer })
  await first.service.ready()
  await until(() => sent.length === 3)
  await first.service.close()
  expect((await storage.export()).rows.outbox).toMatchObject([{ id: 2, status: 'pending', attempts: 1 }])
})

test('services that share a storage send each mail once', async () => {
  const shared = { ...memoryStorage(), exclusive: false, close: async () => {} }
  await shared.import(stateOf(waitingMails(300)))
  const sent: string[] = []
  const send = async ({ to }: Mail) => {
    await new Promise((resolve) => setTimeout(resolve, 2))
    sent.push(to)
  }
  const encryptionKey = '7'.repeat(64)
  const services = Array.from({ length: 4 }, () => start({ storage: shared, mailer: { send }, encryptionKey }))
  await Promise.all(services.map(({ service }) => service.ready()))
  await until(async () => ((await shared.export()).rows.outbox ?? []).length === 0)
  expect(sent).toHaveLength(300)
  expect(new Set(sent).size).toBe(300)
})

test('a service takes over the mails of one that has ended, but not of one that lives', async () => {
  const alive = new Set<string>()
  const presence = {
    enter: async (name: string) => void alive.add(name),
    isAlive: async (name: string) => alive.has(name),
  }
  const shared = { ...memoryStorage(), exclusive: false, presence, close: async () => {} }
  await shared.import(stateOf(waitingMails(3)))
  const encryptionKey = '7'.repeat(64)
  const first = start({ storage: shared, mailer: { send: never }, encryptionKey })
  await first.service.ready()
  await until(async () => ((await shared.export()).rows.outbox ?? []).every((row) => 'claim' in row))
  const [firstName] = alive
  const sent: string[] = []
  const second = start({ storage: shared, mailer: { send: async ({ to }) => void sent.push(to) }, encryptionKey })
  await second.askCode('ada@example.test')
  await until(() => sent.length === 1)
  alive.delete(firstName ?? '')
  await second.askCode('bob@example.test')
  await until(() => sent.length === 5)
  expect(sent.slice(0, 1)).toEqual(['ada@example.test'])
})

test('a round that fails is logged, and another one follows though nothing else happens', async () => {
  const inner = memoryStorage()
  let failures = 0
  const storage: Storage = {
    ...inner,
    async read(body) {
      if (failures === 0 || sent.length > 0) return inner.read(body)
      failures--
      throw new Error('on purpose')
    },
  }
  const sent: string[] = []
  const { service, askCode, logged } = start({
    storage,
    alarm: fastAlarm,
    mailer: { send: async ({ to }) => void sent.push(to) },
  })
  await service.ready()
  await new Promise((resolve) => setTimeout(resolve, 5))
  failures = 3
  expect((await askCode('ada@example.test')).status).toBe(202)
  await until(() => sent.length === 1)
  expect(logged).toEqual(Array(3).fill('a round of deliveries failed and is tried again'))
})

test('a charge that may take an hour is made once, by its caller', async () => {
  let asked = 0
  const cards = {
    async charge() {
      asked++
      await new Promise((resolve) => setTimeout(resolve, 20))
      return { status: 'succeeded', charge_id: 'ch_1' } as const
    },
    refund: never,
    save: never,
  }
  const { call, askCode } = start({ sandbox: true, cards, limits: { cardMs: 3_600_000, closeMs: 20 } })
  const payer = await newPayer(call, await newSeller(call))
  const card = { amount: 5, payment_method_id: 'pm_1' }
  const paid = call('POST', `/v4/twin/${payer.hostname}/topup`, { token: payer.token, body: card })
  await until(() => asked === 1)
  // Another message makes the service look for what is due.
  await askCode('ada@example.test')
  expect([(await paid).status, asked]).toEqual([201, 1])
})
