import { describe, expect, test } from 'vitest'
import { createService, type Fault } from '../../src/index.js'
import { type Storage, StorageUnavailable } from '../../src/storage/storage.js'
import { Transaction } from '../../src/storage/transaction.js'
import { howMuch } from '../support/how-much.js'
import { expectSoundLedger } from '../support/scenes/market.js'
import { newProcesses, type TestProcess, turns } from '../support/scenes/processes.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

type Serving = Pick<TestProcess, 'service'>

/** A fault of the reads that `ask` makes. */
const busy = { match: { operation_id: 'listDigitalQuantities' }, at: 'before', do: { status: 503 } } as const

const ask = async ({ service }: Serving): Promise<number> => (await service.fetch('/v4/dq')).status

/** Asks the processes in turn, and returns what each answered. */
async function askInTurn(all: readonly Serving[], count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < count; n++) statuses.push(await ask(all[n % all.length] as Serving))
  return statuses
}

const firedAt = async ({ service }: Serving): Promise<number[]> =>
  (await service.sandbox.faults.list()).map(({ fired }) => fired)

const refusals = (statuses: readonly number[]): number => statuses.filter((status) => status === 503).length

// With hints, what one process says reaches the others sooner: the tests of approvals and controls have both.
const ways = howMuch([{ hints: false }], [{ hints: true }, { hints: false }])

describe.each(ways)('faults of several processes (hints: $hints)', ({ hints }) => {
  async function starting() {
    const world = newProcesses({ hints })
    const [a, b, c] = [await world.start(), await world.start(), await world.start()]
    const arm = (at: TestProcess, fault: Fault) => at.call('POST', '/_sandbox/faults', { body: fault })
    return { ...world, a, b, c, all: [a, b, c], arm }
  }

  test('one that happens once happens once in all, and each of them shows it', async () => {
    const { a, b, all, arm } = await starting()
    await arm(a, { ...busy, times: 1 })
    const statuses = await Promise.all(Array.from({ length: 30 }, (_, n) => ask(all[n % 3] as TestProcess)))
    expect(refusals(statuses)).toBe(1)
    for (const each of all) expect(await firedAt(each)).toEqual([1])
    await arm(b, { ...busy, times: 3 })
    expect(refusals(await askInTurn(all, 12))).toBe(3)
    for (const each of all) expect(await firedAt(each)).toEqual([1, 3])
  })

  test('one that always happens is counted by all', async () => {
    const { a, all, arm } = await starting()
    await arm(a, busy)
    expect(refusals(await askInTurn(all, 7))).toBe(7)
    for (const each of all) expect(await firedAt(each)).toEqual([7])
  })

  test('each third match is the third of all', async () => {
    const { a, c, all, arm } = await starting()
    await arm(a, { ...busy, every: 3, times: 2 })
    // The third request goes to c. Then b is skipped, so that the sixth one goes to a.
    expect(await askInTurn(all, 4)).toEqual([200, 200, 503, 200])
    expect(await askInTurn([c, a], 4)).toEqual([200, 503, 200, 200])
    expect(await askInTurn(all, 3)).toEqual([200, 200, 200])
    for (const each of all) expect(await firedAt(each)).toEqual([2])
  })

  test('one that is likely happens to the same requests as in one process, whoever answers them', async () => {
    const { a, b, all, arm } = await starting()
    const likely = { ...busy, probability: 0.4 }
    const alone = createService({ sandbox: true, seed: { faults: [{ ...likely, seed: 7 }] } })
    const expected = await askInTurn([{ service: alone }], 30)
    await alone.close()
    expect(new Set(expected).size).toBe(2)
    await arm(a, { ...likely, seed: 7 })
    expect(await askInTurn(all, 30)).toEqual(expected)
    // Without a seed, its number is its seed, and it is the second one everywhere.
    await b.call('DELETE', '/_sandbox/faults/fault_1')
    await arm(b, likely)
    const second = createService({ sandbox: true, seed: { faults: [{ ...likely, seed: 2 }] } })
    expect(await askInTurn(all, 30)).toEqual(await askInTurn([{ service: second }], 30))
    await second.close()
  })

  test('one that is disarmed and armed again counts anew, at a process that hung meanwhile too', async () => {
    const { a, b, all, arm, time } = await starting()
    await arm(a, { ...busy, id: 'busy', times: 1 })
    expect(await askInTurn([b, a], 2)).toEqual([503, 200])
    const resume = b.hang()
    await a.call('DELETE', '/_sandbox/faults/busy')
    await arm(a, { ...busy, id: 'busy', times: 1 })
    resume()
    await time.until(async () => (await firedAt(b)).join() === '0')
    expect(await firedAt(a)).toEqual([0])
    expect(await askInTurn([b, a, b], 3)).toEqual([503, 200, 200])
    for (const each of all) expect(await firedAt(each)).toEqual([1])
  })

  test('one that is disarmed happens nowhere, although a process has not heard of it', async () => {
    const { a, b, arm, time } = await starting()
    await arm(a, { ...busy, id: 'busy' })
    const resume = b.hang()
    const asked = ask(b)
    await a.call('DELETE', '/_sandbox/faults/busy')
    resume()
    expect(await time.during(asked)).toBe(200)
  })

  test('a process that dies before its fault happens loses that one, and no other', async () => {
    const { a, b, c, arm } = await starting()
    await arm(a, { ...busy, do: { delay_ms: 5000 }, times: 2 })
    let isAnswered = false
    void ask(a).then(() => (isAnswered = true))
    await turns()
    a.kill()
    expect(await firedAt(b)).toEqual([1])
    let waiting = 0
    for (const each of [b, c, b]) {
      const asked = ask(each).finally(() => waiting--)
      waiting++
      await turns()
      void asked
    }
    expect([isAnswered, waiting]).toEqual([false, 1])
    expect([await firedAt(b), await firedAt(c)]).toEqual([[2], [2]])
  })

  test('those of the seed are armed once, and a reset arms them anew', async () => {
    const { start, time } = newProcesses({ hints })
    const seed = { faults: [{ ...busy, id: 'busy', times: 2 }] }
    const all = await Promise.all([start({ seed }), start({ seed }), start({ seed })])
    expect(refusals(await askInTurn(all, 9))).toBe(2)
    const late = await start({ seed })
    expect(await ask(late)).toBe(200)
    await late.call('POST', '/_sandbox/reset')
    expect(await firedAt(late)).toEqual([0])
    expect(refusals(await askInTurn([...all, late], 12))).toBe(2)
    expect(await time.during(firedAt(all[0] as TestProcess))).toEqual([2])
  })

  test('a state that one process restores leaves the counts as they are', async () => {
    const { a, b, c, all, arm, storage } = await starting()
    const before = await a.service.sandbox.snapshot()
    await arm(a, { ...busy, times: 2 })
    expect(await ask(b)).toBe(503)
    const during = await storage.export()
    await c.call('PUT', '/_sandbox/snapshot', { body: before })
    for (const each of all) expect(await firedAt(each)).toEqual([1])
    expect(refusals(await askInTurn(all, 6))).toBe(1)
    // What an older state says of faults is about the processes of then.
    await c.call('PUT', '/_sandbox/snapshot', { body: during })
    expect(refusals(await askInTurn(all, 6))).toBe(0)
    for (const each of all) expect(await firedAt(each)).toEqual([2])
    expect((await a.service.sandbox.snapshot()).rows.settings?.map(({ id }) => id)).not.toContain('fault_counts')
    await a.call('DELETE', '/_sandbox/faults')
    const { settings } = (await storage.export()).rows
    expect(settings?.find(({ id }) => id === 'fault_counts')).toEqual({ id: 'fault_counts', value: [] })
  })

  test('one of the storage fails so many writes of all, and what it counts is no match', async () => {
    const { a, b, all, arm, time } = await starting()
    const seller = await newSeller(a.call)
    const { hash } = await newCommodity(b.call, seller, { cost: 1 })
    const payer = await newPayer(a.call, seller, { balance: 20 })
    await time.pass(1000)
    await arm(b, { match: { port: 'storage' }, at: 'before', do: { error: 'ENOSPC' }, every: 3, times: 2 })
    const headers = { authorization: `Bearer ${payer.token}`, 'content-type': 'application/json' }
    const pay = async ({ service }: Serving) =>
      (await service.fetch(`/v4/payment/${hash}`, { method: 'POST', headers, body: '{}' })).status
    const statuses: number[] = []
    for (let n = 0; n < 9; n++) statuses.push(await pay(all[n % 3] as TestProcess))
    expect(refusals(statuses)).toBe(2)
    for (const each of all) expect(await firedAt(each)).toEqual([2])
    expect(await balanceOf(a.call, payer.token, payer.hostname)).toBe(20 - 7)
    await expectSoundLedger(b.call)
  })

  test('one of a port happens after a call that worked, once in all', async () => {
    const { start, time } = newProcesses({ hints })
    const mails: string[] = []
    let isDown = true
    const mailer = {
      async send({ id }: { id: string }) {
        if (isDown) throw new Error('the mailer is down')
        mails.push(id)
      },
    }
    const all = [await start({ mailer }), await start({ mailer })] as const
    const twice = { match: { port: 'mail' }, at: 'after_commit', do: { duplicate: true }, times: 1 }
    await all[0].call('POST', '/_sandbox/faults', { body: twice })
    const order = (n: number) => ({ body: { email: `user-${n}@example.test` } })
    await all[0].call('POST', '/v4/session/code', order(0))
    await time.pass(200)
    expect(await firedAt(all[1])).toEqual([0])
    isDown = false
    for (const n of [1, 2, 3, 4]) await all[n % 2]?.call('POST', '/v4/session/code', order(n))
    await time.until(() => new Set(mails).size === 5)
    expect(mails).toHaveLength(6)
    for (const each of all) expect(await firedAt(each)).toEqual([1])
  })
})

test('a fault whose match cannot be counted does not happen, and the request goes on', async () => {
  const { start, storage } = newProcesses({ hints: false })
  let isFull = false
  const counting: Storage = {
    ...storage,
    isShared: true,
    exclusive: false,
    write: (body) =>
      storage.write(async (tx) => {
        const value = await body(tx)
        const changes = [...Transaction.over(tx).changes()]
        if (isFull && changes.some(({ collection: { name } }) => name === 'settings'))
          throw new StorageUnavailable('it is full')
        return value
      }),
    close: async () => {},
  }
  const process = await start({ storage: counting })
  await process.call('POST', '/_sandbox/faults', { body: { ...busy, times: 1 } })
  isFull = true
  expect(await ask(process)).toBe(200)
  isFull = false
  expect(await askInTurn([process], 2)).toEqual([503, 200])
})
