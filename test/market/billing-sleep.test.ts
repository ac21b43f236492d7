import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemAlarm } from '../../src/base/ports.js'
import { type Cards, createService, type ServiceOptions } from '../../src/index.js'
import { testProcessor } from '../../src/money/cards/test-values.js'
import { caller } from '../support/api.js'
import { FAILING, mailedSubjects, Subscriber, VISA } from '../support/scenes/billing.js'
import { newSeller } from '../support/scenes/world.js'

const DAY = 86_400_000

/** An account of a service that runs when it is woken, on a clock that goes on while nobody is there. */
async function sleeper() {
  const storage = memoryStorage()
  const cards = testProcessor({ alarm: systemAlarm })
  let now = Date.UTC(2031, 0, 31, 12)
  const tries: number[] = []
  const charge: Cards['charge'] = (order) => {
    tries.push(now)
    return cards.charge(order)
  }
  const open = () => {
    const kept = { ...storage, close: async () => {} }
    const ports = { clock: { now: () => now }, cards: { ...cards, charge }, log: { error() {} } }
    const options: ServiceOptions = { storage: kept, ...ports, encryptionKey: '11'.repeat(32) }
    const service = createService(options)
    return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
  }
  let running = open()
  const seller = await newSeller(running.call)
  const account = () => new Subscriber(running.call, seller)
  return {
    account,
    tries: () => tries.map((at) => (at - Date.UTC(2031, 1, 28, 12)) / DAY),
    /** Stops the service, lets time pass and starts it again. */
    async sleep(days: number) {
      await running.service.close()
      now += days * DAY
      running = open()
      await running.service.ready()
    },
  }
}

test('tries missed while the service slept keep their spacing afterwards, and the plan waits for them', async () => {
  const { account, sleep, tries } = await sleeper()
  await account().chosen('growth', VISA)
  await account().ask('PUT', '/card', { payment_method_id: FAILING })
  await sleep(28)
  await expect.poll(async () => (await account().billing()).status).toBe('past_due')
  // The second month ends meanwhile.
  await sleep(40)
  await expect.poll(tries).toHaveLength(3)
  expect(await account().billing()).toMatchObject({ plan: 'growth', status: 'past_due' })
  await sleep(2)
  await expect.poll(tries).toHaveLength(4)
  expect(await account().billing()).toMatchObject({ plan: 'growth', status: 'past_due' })
  await sleep(4)
  await expect.poll(async () => (await account().billing()).status).toBe('cancelled')
  expect(tries()).toEqual([-28, 0, 40, 42, 46])
})

test('mail about an unavailable processor does not blame the card, and announces the last try once', async () => {
  const cards = testProcessor({ alarm: systemAlarm })
  let isDown = false
  const charge: Cards['charge'] = async (order) => (isDown ? { status: 'unavailable' } : cards.charge(order))
  const service = createService({ sandbox: true, cards: { ...cards, charge } })
  await service.sandbox.setClock({ mode: 'manual' })
  await service.sandbox.setClock({ set: Date.UTC(2031, 0, 31, 12) })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const account = new Subscriber(call, await newSeller(call))
  await account.ask('PUT', '/profile', { billing_email: 'books@example.test' })
  await account.chosen('growth', VISA)
  isDown = true
  await service.sandbox.advance('48d')
  const [first, second] = await account.invoices()
  const failed = `Payment of invoice ${second.number} failed`
  expect(await mailedSubjects(call, 'books@example.test')).toEqual([
    `Receipt for invoice ${first.number}`,
    ...[failed, failed, `Last try for invoice ${second.number}`],
  ])
  const { messages } = await service.sandbox.outbox({ to: 'books@example.test', kind: 'mail' })
  for (const { text } of messages.slice(0, 3)) expect(text).toContain('Nothing is wrong with your card.')
  expect(await account.billing()).toMatchObject({ plan: 'growth', status: 'past_due' })
  await service.close()
})
