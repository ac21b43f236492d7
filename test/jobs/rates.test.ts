import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { Problem } from '../../src/base/problem.js'
import {
  addDaily,
  attemptsOf,
  countRate,
  type RateLimit,
  rates,
  spendRate,
  uncountRate,
} from '../../src/jobs/rates/rate.js'

const LIMIT: RateLimit = { kind: 'test', most: 3, windowMs: 60_000, code: 'too_many_calls' }
const AT = Date.UTC(2031, 4, 1, 12)
const counted = { subject: 'user:1', at: AT }

test('a try that no longer counts leaves no row behind, and takes no other with it', async () => {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    await countRate(tx, LIMIT, { ...counted, times: 2 })
    await uncountRate(tx, LIMIT, { ...counted, at: AT - 1 })
    await uncountRate(tx, LIMIT, counted)
    expect(await attemptsOf(tx, LIMIT, counted)).toBe(1)
    await uncountRate(tx, LIMIT, counted)
    expect(await tx.find(rates, { index: 'id', prefix: [], limit: 10 })).toEqual([])
  })
})

test('more at once than a limit ever allows is refused without a time to try again', async () => {
  const storage = memoryStorage()
  const spend = (times: number) => storage.write((tx) => spendRate(tx, LIMIT, { ...counted, times }))
  const refused = async (times: number): Promise<Problem> => {
    const error = await spend(times).catch((thrown: unknown) => thrown)
    if (!(error instanceof Problem)) throw new Error('it was not refused')
    return error
  }
  const never = await refused(4)
  expect([never.code, never.headers['retry-after']]).toEqual(['too_many_calls', undefined])
  expect(never.message).toContain('This is 4 at once, and the limit is 3.')
  await spend(2)
  expect((await refused(2)).headers['retry-after']).toBe('60')
  await spend(1)
})

test('a day that another machine began half a minute ahead still counts, and one of a wrong clock does not', async () => {
  const storage = memoryStorage()
  const add = (at: number) => storage.write((tx) => addDaily(tx, { kind: 'things', subject: 'user:1', most: 1, at }, 1))
  expect([await add(AT), await add(AT - 30_000), await add(AT - 120_000)]).toEqual([true, false, true])
})
