import { afterEach, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service } from '../../src/index.js'
import { storageOver } from '../../src/storage/service-storage.js'
import { howMuch } from '../support/how-much.js'
import { sampleIn } from '../support/open-metrics.js'
import { stateOf, waitingMails } from '../support/scenes/waiting-mails.js'
import { newWebhook, type Received, startWithReceivers, until, writeEvent } from '../support/scenes/webhooks.js'
import { newSeller, type Seller } from '../support/scenes/world.js'

const started: Service[] = []
/** What the receivers that hang have not answered. */
const held: (() => void)[] = []
afterEach(async () => {
  const closing = Promise.all(started.splice(0).map((service) => service.close()))
  // Otherwise each would complain after a minute, in the middle of another test of this worker.
  for (const answer of held.splice(0)) answer()
  await closing
})

const GOOD = 'https://good.example.test/hook'

/** Receivers below `hang.` that never answer, and others that do at once. */
function start() {
  const hanging: Received[] = []
  const world = startWithReceivers((got) => {
    if (!got.url.includes('//hang')) return 204
    hanging.push(got)
    return new Promise<number>((answer) => held.push(() => answer(204)))
  })
  started.push(world.service)
  const good = () => world.received.filter(({ url }) => url === GOOD)
  return { ...world, hanging, good }
}

type World = ReturnType<typeof start>

/** An account whose 20 webhooks hang, each for `events` events. */
async function hangingAccount({ call }: World, { events, urlOf }: { events: number; urlOf: (n: number) => string }) {
  const seller = await newSeller(call)
  await Promise.all(Array.from({ length: 20 }, (_, n) => newWebhook(call, seller, { url: urlOf(n) })))
  for (let n = 0; n < events; n++) await writeEvent(call, seller)
  return seller
}

/** Waits until no more tries begin. */
async function settled(received: readonly unknown[]) {
  for (let before = -1; before !== received.length; ) {
    before = received.length
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function deliversAtOnce(world: World, seller: Seller) {
  const before = world.good().length
  const id = await writeEvent(world.call, seller)
  await until(() => world.good().length === before + 1)
  expect(world.good().at(-1)?.event.id).toBe(id)
}

const places: readonly (readonly [what: string, urlOf: (n: number) => string])[] = [
  ['at one host each', (n) => `https://hang-${n}.example.test/`],
  ['all at one host', () => 'https://hang.example.test/'],
]
// The test of 26 accounts has a host that hangs for many webhooks too.
for (const [what, urlOf] of places.slice(0, howMuch(1, 2)))
  test(`two accounts whose 20 webhooks hang ${what} hold up nobody else`, async () => {
    const world = start()
    const victim = await newSeller(world.call)
    await newWebhook(world.call, victim, { url: GOOD })
    for (let n = 0; n < 2; n++) await hangingAccount(world, { events: 14, urlOf })
    await settled(world.hanging)
    await deliversAtOnce(world, victim)
    expect(world.hanging.length).toBeLessThan(512)
  })

test('with 26 hanging accounts, the delivery of another still begins at once, also to the host that hangs for them', async () => {
  const world = start()
  const victim = await newSeller(world.call)
  await newWebhook(world.call, victim, { url: GOOD })
  const beside = await newSeller(world.call)
  await newWebhook(world.call, beside, { url: 'https://hang.example.test/beside' })
  for (let n = 0; n < 26; n++) {
    const url = n % 2 === 0 ? 'https://hang.example.test/' : `https://hang-${n}.example.test/`
    await hangingAccount(world, { events: 1, urlOf: () => url })
  }
  await settled(world.hanging)
  // All places would be free again after 15 seconds, when these are given up.
  expect(world.hanging.length).toBeLessThan(512)
  await deliversAtOnce(world, victim)
  await writeEvent(world.call, beside)
  await until(() => world.hanging.some(({ url }) => url.endsWith('/beside')))
})

test('a webhook that hangs leaves places to those of the same account at other hosts', async () => {
  const world = start()
  const seller = await newSeller(world.call)
  await newWebhook(world.call, seller, { url: GOOD, events: ['client.good'] })
  for (let n = 0; n < 19; n++)
    await newWebhook(world.call, seller, { url: 'https://hang.example.test/', events: ['client.done'] })
  for (let n = 0; n < 15; n++) await writeEvent(world.call, seller)
  await settled(world.hanging)
  await writeEvent(world.call, seller, 'client.good')
  await until(() => world.good().length === 1)
})

test('every delivery that waited for a place is made in the end, in the order of its events, also by the next process', async () => {
  const storage = storageOver(memoryStorage(), { close: async () => {} })
  const first = startWithReceivers(() => new Promise<number>(() => {}), { storage })
  const seller = await newSeller(first.call)
  await Promise.all(Array.from({ length: 20 }, () => newWebhook(first.call, seller)))
  for (let n = 0; n < 14; n++) await writeEvent(first.call, seller)
  await settled(first.received)
  expect(first.received.length).toBeLessThan(256)
  await first.service.close()
  const second = startWithReceivers(() => 204, { storage })
  started.push(second.service)
  await second.service.ready()
  await until(() => second.received.length >= 20 * 14)
  expect(new Set(second.received.map(({ id }) => id)).size).toBe(20 * 14)
})

test('what waits for a place when the clock is moved is delivered before, at the time at which it was due', async () => {
  const world = start()
  const seller = await hangingAccount(world, { events: 15, urlOf: (n) => `https://hang-${n}.example.test/` })
  await until(() => world.hanging.length > 0)
  await settled(world.hanging)
  const begun = world.received.length
  expect(begun).toBeLessThan(15 * 20)
  world.receivers.answering = () => 204
  const moved = Math.floor(Date.now() / 1000) + 86_000
  await world.service.sandbox.advance('1d')
  await writeEvent(world.call, seller)
  const waited = world.received.slice(begun, 15 * 20)
  const times = waited.map(({ headers }) => Number(headers['webhook-timestamp']))
  expect(waited.length).toBe(15 * 20 - begun)
  expect(times.filter((time) => time > moved)).toEqual([])
})

test('what waits for a place is counted among what is due', async () => {
  const world = start()
  await hangingAccount(world, { events: 15, urlOf: (n) => `https://hang-${n}.example.test/` })
  await until(() => world.hanging.length > 0)
  await settled(world.hanging)
  expect(world.hanging.length).toBeLessThan(15 * 20)
  expect(sampleIn(await world.service.sandbox.metrics(), 'farthing_outbox{state="due"}')).toBe(15 * 20)
})

test('mails that one address waits for leave room for those to others', async () => {
  const storage = memoryStorage()
  const flood = waitingMails(500).map((mail) => ({ ...mail, to: 'flooded@example.test' }))
  await storage.import(stateOf([...flood, ...waitingMails(501).slice(500)]))
  const sent: string[] = []
  const service = createService({
    storage,
    limits: { closeMs: 20 },
    log: { error() {} },
    mailer: {
      send: ({ to }) => {
        sent.push(to)
        return new Promise<never>(() => {})
      },
    },
  })
  started.push(service)
  await service.ready()
  await until(() => sent.includes('reader-501@example.test'))
})
