import type { Service } from 'farthing'
import { farthingTest } from 'farthing/vitest'
import { afterAll, describe, expect, vi } from 'vitest'

const hash = '00000000-0000-4000-8000-0000000000a1'
const prepare = vi.fn()
const services: Service[] = []

const test = farthingTest({
  seed: {
    accounts: [{ name: 'The Daily Farthing' }],
    users: [
      { email: 'reader@example.test', balance: 1 },
      { email: 'poor@example.test', balance: 0.1 },
    ],
    commodities: [{ account: 'The Daily Farthing', descriptor: 'NEWS.ARTICLE', cost: 0.25, hash }],
  },
  async prepare(service, seeded) {
    prepare()
    await service.sandbox.fund({ hostname: seeded.users[0].twin.hostname, amount: 1 })
  },
})

test.beforeEach(({ service }) => void services.push(service))
afterAll(async () => {
  expect(prepare).toHaveBeenCalledOnce()
  expect(new Set(services).size).toBe(services.length)
  for (const service of services) await expect(service.sandbox.ledger()).rejects.toThrow(/closed/)
})

describe.concurrent('two tests at once', () => {
  let arrived = 0
  let proceed = () => {}
  const bothPaid = new Promise<void>((resolve) => (proceed = resolve))

  for (const hours of [1, 2])
    test(`of which one waits ${hours} hours`, async ({ client, seeded, sandbox, expect }) => {
      const reader = client.as(seeded.users[0])
      await reader.payments.create(hash)
      await sandbox.advance(`${hours}h`)
      if (++arrived === 2) proceed()
      await bothPaid

      const { twins } = await reader.twins.list()
      expect(Object.values(twins[0]?.balances ?? {})).toEqual([1.75])
      expect((await sandbox.requests.list({ operation_id: 'createPayment' })).requests).toHaveLength(1)
    })
})

test('a code is returned once', async ({ client, codeFor }) => {
  const email = 'reader@example.test'
  const [first] = await Promise.all([codeFor(email), client.sessionCodes.send({ email })])
  const second = codeFor(email)
  await client.sessionCodes.send({ email })
  for (const code of [first, await second]) expect(code).toMatch(/^\d{6}$/)
  await expect(codeFor(email, { seconds: 0.01 })).rejects.toThrow('No code was mailed to reader@example.test')
})

test('fails after a payment was refused', async ({ client, seeded }) => {
  await client.as(seeded.users[1]).payments.create(hash)
})

describe('afterwards', () => {
  test.afterEach(() => {
    throw new Error('the hook fails')
  })
  test('fails in a hook', ({ client }) => client.sessionCodes.send({ email: 'reader@example.test' }))
})

test.fails('passes because it fails', async ({ client, seeded }) => {
  await client.as(seeded.users[1]).payments.create(hash)
})

test('fails after it closed its service', async ({ client, service, seeded }) => {
  await client.as(seeded.users[1]).payments.create.try(hash)
  await service.close()
  expect(await service.sandbox.ledger()).toBeDefined()
})

test('fails without a request', ({ service }) => {
  expect(service.baseUrl).toBe('')
})
