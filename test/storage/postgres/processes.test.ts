import { expect, onTestFinished, test, vi } from 'vitest'
import { createService, type Seed } from '../../../src/index.js'
import type { Storage } from '../../../src/storage/storage.js'
import { caller } from '../../support/api.js'
import { expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import { newProcesses } from '../../support/scenes/processes.js'
import { expectNothingMore, interruptedControls } from '../../support/scenes/silent-controls.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'
import { onPostgres, type TestDatabase } from '../../support/storage/postgres.js'
import { newSchema } from '../../support/storage/shared-url.js'

/** Services over one database, as if each in a process of its own. */
async function newServices(database: TestDatabase, count: number, seed: Seed = {}) {
  const schema = newSchema()
  return Promise.all(
    Array.from({ length: count }, async () => {
      const service = createService({
        storage: await database.open({ schema }),
        sandbox: true,
        seed,
        log: { error() {} },
      })
      onTestFinished(() => service.close())
      await service.ready()
      return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
    }),
  )
}

await onPostgres('Services over one database', (database) => {
  test('have one clock, one key and one state, whoever changes them', async () => {
    const all = await newServices(database, 3)
    const [a, b] = all as [(typeof all)[0], (typeof all)[0]]
    await a.service.sandbox.setClock({ mode: 'manual' })
    await Promise.all(all.map(({ service }) => service.sandbox.advance('1h')))
    const now = a.service.sandbox.clock()
    for (const { service } of all) expect(service.sandbox.clock()).toEqual(now)
    const old = await newSeller(b.call)
    await b.call('POST', '/_sandbox/reset')
    expectProblem(await a.call('GET', '/v4/account', { token: old.token }), 401, 'token_invalid')
    const seller = await newSeller(a.call)
    const { hash } = await newCommodity(b.call, seller)
    const payer = await newPayer(b.call, seller, { balance: 10 })
    const paid = await Promise.all(
      Array.from({ length: 30 }, (_, n) => all[n % 3]?.call('POST', `/v4/payment/${hash}`, { token: payer.token })),
    )
    expect(paid.map((answer) => answer?.status)).toEqual(Array(30).fill(202))
    expect(await balanceOf(a.call, payer.token, payer.hostname)).toBe(2.5)
    await expectSoundLedger(b.call)
  })

  test('count a fault together, and a payment under it is made once', async () => {
    const all = await newServices(database, 3)
    const [a, b] = all as [(typeof all)[0], (typeof all)[0]]
    const seller = await newSeller(a.call)
    const { hash } = await newCommodity(a.call, seller, { cost: 1 })
    const payer = await newPayer(a.call, seller, { balance: 50 })
    const fault = { match: { operation_id: 'createPayment' }, at: 'before', do: { status: 503 } }
    const refusedOf = async (count: number) => {
      const headers = { authorization: `Bearer ${payer.token}` }
      const paid = await Promise.all(
        Array.from({ length: count }, (_, n) =>
          all[n % 3]?.service.fetch(`/v4/payment/${hash}`, { method: 'POST', headers }),
        ),
      )
      return paid.filter((answer) => answer?.status === 503).length
    }
    const fired = () =>
      Promise.all(all.map(async ({ service }) => (await service.sandbox.faults.list()).map((armed) => armed.fired)))
    await a.call('POST', '/_sandbox/faults', { body: { ...fault, id: 'once', times: 1 } })
    expect([await refusedOf(15), await fired()]).toEqual([1, [[1], [1], [1]]])
    await b.call('DELETE', '/_sandbox/faults/once')
    await b.call('POST', '/_sandbox/faults', { body: { ...fault, id: 'once', every: 3 } })
    expect([await refusedOf(15), await fired()]).toEqual([5, [[5], [5], [5]]])
    await a.call('DELETE', '/_sandbox/faults')
    await a.call('POST', '/_sandbox/faults', {
      body: { match: { port: 'storage' }, at: 'before', do: { error: 'ENOSPC' }, every: 4, times: 3 },
    })
    const refused = await refusedOf(15)
    expect(await fired()).toEqual([[3], [3], [3]])
    expect(await balanceOf(b.call, payer.token, payer.hostname)).toBe(50 - 14 - 10 - (15 - refused))
    await expectSoundLedger(b.call)
  })

  test('arm the faults of their seed once, although all start at once', async () => {
    const fault = { match: { operation_id: 'listDigitalQuantities' }, at: 'before', do: { status: 503 } } as const
    const all = await newServices(database, 3, { faults: [{ ...fault, times: 2 }] })
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => all[n % 3]?.service.fetch('/v4/dq')))
    expect(answers.filter((answer) => answer?.status === 503)).toHaveLength(2)
    const listed = await Promise.all(all.map(({ service }) => service.sandbox.faults.list()))
    expect(listed.map((faults) => faults.map(({ fired }) => fired))).toEqual([[2], [2], [2]])
  })

  test.each(interruptedControls)(
    'stay as they are when one wakes up in a control that was ended: $name',
    async (control) => {
      let storage: Storage | undefined
      onTestFinished(() => storage?.close())
      const newWorld = async () => {
        const schema = newSchema()
        const reach = () => database.open({ schema })
        await storage?.close()
        storage = await reach()
        return newProcesses({ hints: true, storage, reach })
      }
      expect(await expectNothingMore(newWorld, { control, everyNth: 4 })).toBeGreaterThan(0)
    },
    120_000,
  )

  test('know each other, and a service that closes leaves', async () => {
    const [a, b] = await newServices(database, 2)
    const names = () => a?.service.sandbox.health().processes ?? []
    await vi.waitUntil(() => names().length === 2)
    await b?.service.close()
    await vi.waitUntil(() => names().length === 1)
    expect(names()).toHaveLength(1)
  })
})
