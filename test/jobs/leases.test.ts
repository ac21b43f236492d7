import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemRandom } from '../../src/base/ports.js'
import {
  findEnded,
  isLeaseCurrent,
  isLeaseTaken,
  type Lease,
  LONGEST_LEASE_MS,
  leases,
  releaseLease,
  renewLease,
  takeLease,
} from '../../src/jobs/leases/lease.js'
import type { Storage } from '../../src/storage/storage.js'

const YEAR = 365 * 86_400_000

/** One process that shares a storage, with a clock that the test sets. */
function holderOf(storage: Storage, instance: string, time = { now: 1_000_000 }) {
  const service = { storage, instance, clock: { now: () => time.now }, random: systemRandom }
  return {
    service,
    time,
    take: (id: string, ms = 1000, ended?: ReadonlySet<string>) =>
      storage.write((tx) => takeLease(tx, { id, ms, ended }, service)),
    renew: (lease: Lease, ms = 1000) => storage.write((tx) => renewLease(tx, lease, { ms, at: time.now })),
    release: (lease: Lease) => storage.write((tx) => releaseLease(tx, lease)),
    isTaken: (id: string) => storage.read((tx) => isLeaseTaken(tx, { id }, service)),
  }
}

const shared = (): Storage => ({ ...memoryStorage({ rerun: true }), exclusive: false })
const isCurrent = (storage: Storage, lease: Lease) => storage.read((tx) => isLeaseCurrent(tx, lease))

/** The lease, or an error if it was not taken. */
function taken(lease: Lease | undefined): Lease {
  if (!lease) throw new Error('the lease was not taken')
  return lease
}

test('one of many takers gets a lease, in one process and in several', async () => {
  const storage = shared()
  const holders = ['a', 'a', 'b', 'c'].map((name) => holderOf(storage, name))
  const takes = await Promise.all(holders.map(({ take }) => take('thing:1')))
  expect(takes.filter((lease) => lease !== undefined)).toHaveLength(1)
  expect(await holders[3]?.isTaken('thing:1')).toBe(true)
  expect(await holders[3]?.take('thing:2')).toBeDefined()
})

test('a lease that has ended belongs to its holder until somebody else takes it', async () => {
  const storage = shared()
  const [first, second] = [holderOf(storage, 'a'), holderOf(storage, 'b', { now: 1_001_000 })]
  const lease = taken(await first.take('thing:1'))
  expect(await second.isTaken('thing:1')).toBe(false)
  expect(await isCurrent(storage, lease)).toBe(true)
  const next = taken(await second.take('thing:1'))
  expect(await isCurrent(storage, lease)).toBe(false)
  expect(next.fence).toBeGreaterThan(lease.fence)
  expect(await first.renew(lease)).toBe(false)
  await first.release(lease)
  expect(await isCurrent(storage, next)).toBe(true)
})

test('a renewed lease lasts longer', async () => {
  const storage = shared()
  const time = { now: 1_000_000 }
  const [first, second] = [holderOf(storage, 'a', time), holderOf(storage, 'b', time)]
  const lease = taken(await first.take('thing:1'))
  time.now += 900
  expect(await first.renew(lease)).toBe(true)
  time.now += 900
  expect(await second.take('thing:1')).toBeUndefined()
  time.now += 100
  expect(await second.take('thing:1')).toBeDefined()
})

test('the fence grows after a release, and after a reset no earlier holder matches', async () => {
  const storage = shared()
  const { take, release } = holderOf(storage, 'a')
  const first = taken(await take('thing:1'))
  await release(first)
  expect((await storage.export()).rows.leases ?? []).toEqual([])
  const second = taken(await take('thing:1'))
  expect(second.fence).toBeGreaterThan(first.fence)
  await storage.import({ counters: {}, rows: {} })
  const third = taken(await take('thing:1'))
  expect(third.fence).toBe(first.fence)
  expect(await isCurrent(storage, first)).toBe(false)
})

test('a process that is alone with its storage takes what earlier processes held', async () => {
  const storage = memoryStorage()
  const lease = taken(await holderOf(storage, 'killed').take('thing:1', LONGEST_LEASE_MS))
  const next = holderOf(storage, 'restarted')
  const again = taken(await next.take('thing:1'))
  expect(again.fence).toBeGreaterThan(lease.fence)
  expect(await next.take('thing:1')).toBeUndefined()
})

test('the lease of a service that is known to have ended is free', async () => {
  const alive = new Set(['a', 'b'])
  const presence = { enter: async () => {}, isAlive: async (name: string) => alive.has(name) }
  const storage = { ...shared(), presence }
  const lease = taken(await holderOf(storage, 'a').take('thing:1'))
  const { service, take } = holderOf(storage, 'b')
  expect(await take('thing:1', 1000, await findEnded([lease.holder], service))).toBeUndefined()
  alive.delete('a')
  expect(await take('thing:1', 1000, await findEnded([lease.holder], service))).toBeDefined()
  expect(
    await findEnded(['b:1'], {
      ...service,
      storage: { ...storage, presence: { ...presence, isAlive: async () => false } },
    }),
  ).toEqual(new Set())
})

for (const [direction, jump] of [
  ['ahead', YEAR],
  ['back', -YEAR],
] as const)
  test(`a clock that jumps ${direction} a year ends every lease`, async () => {
    const storage = shared()
    const time = { now: 2 * YEAR }
    expect(await holderOf(storage, 'a', time).take('thing:1', LONGEST_LEASE_MS)).toBeDefined()
    time.now += jump
    expect(await holderOf(storage, 'b', time).take('thing:1')).toBeDefined()
  })

test('a lease is never longer than the longest', async () => {
  const { take } = holderOf(shared(), 'a')
  await expect(take('thing:1', LONGEST_LEASE_MS + 1)).rejects.toThrow(RangeError)
})

test('leases that nobody released are removed', async () => {
  const storage = shared()
  const { take, time } = holderOf(storage, 'a')
  for (let each = 0; each < 100; each++) await take(`lost:${each}`)
  expect(await storage.read((tx) => tx.find(leases, { index: 'id', prefix: [], limit: 200 }))).toHaveLength(100)
  time.now += 2 * LONGEST_LEASE_MS
  for (let each = 0; each < 50; each++) await take(`later:${each}`)
  expect(await storage.read((tx) => tx.find(leases, { index: 'id', prefix: [], limit: 200 }))).toHaveLength(50)
})
