import { afterEach, expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { type UserRow, users } from '../../src/identity/users/user.js'
import { createService } from '../../src/index.js'
import { SWEEP } from '../../src/jobs/retention/sweep-timer.js'
import { setTimer, type TimerJob, type TimerRow, timers as timerRows } from '../../src/jobs/schedule/timer.js'
import type { Storage, Writer } from '../../src/storage/storage.js'
import { countingWrites } from '../support/scenes/waiting-mails.js'

const ran: string[] = []
let job: TimerJob = async () => {}

vi.mock('../../src/timers.js', () => ({
  timerJobs: {
    test:
      async (): Promise<TimerJob> =>
      (...given) =>
        job(...given),
  },
}))

afterEach(() => {
  ran.length = 0
  job = async () => {}
})

/** Runs a write through a service: what a feature would do. */
const throughService = async (storage: Storage, at: (tx: Writer) => Promise<unknown>) => {
  await storage.write(at)
}

/** The timers without the one that sweeps. */
const featureTimers = async (storage: Storage) =>
  (await storage.export()).rows.timers?.filter((row) => !('kind' in row && row.kind === SWEEP))

async function sandbox(storage = memoryStorage()) {
  const service = createService({ storage, sandbox: true, log: { error: (message) => void ran.push(message) } })
  await service.sandbox.setClock({ mode: 'manual' })
  await service.sandbox.setClock({ set: new Date(1_000_000) })
  return { service, storage }
}

test('timers run in order, each at its own time, however far the clock leaps', async () => {
  const { service, storage } = await sandbox()
  job = async (tx, subject, { clock }) => {
    ran.push(`${subject} at ${clock.now()}`)
    if (subject === 'first') await setTimer(tx, { kind: 'test', subject: 'set by the first', at: clock.now() + 500 })
  }
  await throughService(storage, async (tx) => {
    for (const [subject, at] of [
      ['last', 1_003_000],
      ['first', 1_001_000],
      ['never', 9_000_000],
      ['second', 1_002_000],
    ] as const)
      await setTimer(tx, { kind: 'test', subject, at })
  })
  await service.sandbox.advance('10s')
  expect(ran).toEqual(['first at 1001000', 'set by the first at 1001500', 'second at 1002000', 'last at 1003000'])
  expect(Date.parse(service.sandbox.clock().now)).toBe(1_010_000)
  expect(await featureTimers(storage)).toHaveLength(1)
  await service.close()
})

test('a job that throws leaves nothing behind, delays no other, and is retried', async () => {
  const { service, storage } = await sandbox()
  let broken = true
  job = async (tx, subject) => {
    await setTimer(tx, { kind: 'none', subject: 'half', at: 8_000_000 })
    if (broken && subject === 'broken') throw new Error('on purpose')
    ran.push(subject)
  }
  await throughService(storage, async (tx) => {
    await setTimer(tx, { kind: 'test', subject: 'broken', at: 1_001_000 })
    await setTimer(tx, { kind: 'test', subject: 'sound', at: 1_002_000 })
  })
  await service.sandbox.advance('3s')
  expect(ran).toEqual([expect.stringMatching(/^the timer \d+ failed and is set again$/), 'sound'])
  expect(await featureTimers(storage)).toHaveLength(2)
  broken = false
  await service.sandbox.advance('2m')
  expect(ran.at(-1)).toBe('broken')
  await service.close()
})

test('a job that always throws is retried with growing delays, and finally waits for an operator', async () => {
  const { service, storage } = await sandbox()
  let tries = 0
  job = async () => {
    tries++
    if (tries !== 18) throw new Error('on purpose')
  }
  await throughService(storage, (tx) => setTimer(tx, { kind: 'test', subject: 'broken', at: 1_001_000 }))
  await service.sandbox.advance('10m')
  expect(tries).toBe(4)
  await service.sandbox.advance('30d')
  expect(tries).toBe(16)
  const parked = await service.deadLetters.list()
  expect(parked).toMatchObject([{ kind: 'test', subject: 'broken', parkedAt: expect.any(Number) }])
  const id = parked[0]?.id ?? ''
  for (const left of [1, 0]) {
    await service.deadLetters.retry(id)
    await service.sandbox.advance('1s')
    expect(await service.deadLetters.list()).toHaveLength(left)
  }
  expect(tries).toBe(18)
  await expect(service.deadLetters.retry(id)).rejects.toMatchObject({ code: 'not_found' })
  await service.close()
})

test('the next service runs jobs that fell due while no service ran', async () => {
  const storage = memoryStorage()
  await storage.write((tx) => setTimer(tx, { kind: 'test', subject: 'due', at: 1 }))
  job = async (_tx, subject) => void ran.push(subject)
  const service = createService({ storage })
  await service.ready()
  await vi.waitUntil(() => ran.length > 0)
  await service.close()
  expect(ran).toEqual(['due'])
})

/** A service on a real clock over timers that are due, and the transactions that wrote timers. */
async function overdue(count: number) {
  const inner = memoryStorage()
  const rows = Array.from({ length: count }, (_, n) => ({
    id: n + 1,
    kind: 'test',
    subject: `${n + 1}`,
    due_at: n + 1,
  }))
  await inner.import({ counters: { timers: count }, rows: { timers: rows } })
  const { storage, counted } = countingWrites(inner)
  const service = createService({ storage, log: { error: (message) => void ran.push(message) } })
  const left = async () => ((await featureTimers(inner)) ?? []) as TimerRow[]
  return { service, storage, counted, left }
}

test('a thousand timers that are due run in their order, 64 in a transaction', async () => {
  job = async (_tx, subject) => void ran.push(subject)
  const { service, counted, left } = await overdue(1000)
  await service.ready()
  await vi.waitUntil(async () => (await left()).length === 0)
  expect(ran).toEqual(Array.from({ length: 1000 }, (_, n) => `${n + 1}`))
  // One more plans the sweep.
  expect(counted.timers).toBe(16 + 1)
  await service.close()
})

test('a request gets its turn between two slices of timers', async () => {
  let asked: Promise<unknown> | undefined
  const { service, storage, left } = await overdue(1000)
  job = async (_tx, subject) => {
    asked ??= storage.write(async () => void ran.push('request'))
    ran.push(subject)
  }
  await service.ready()
  await vi.waitUntil(async () => (await left()).length === 0)
  await asked
  expect(ran.indexOf('request')).toBe(64)
  await service.close()
})

test('a timer that throws in a slice is undone alone, and tried again after a pause', async () => {
  job = async (tx, subject, { clock }) => {
    await setTimer(tx, { kind: 'test', subject: `after ${subject}`, at: clock.now() + 60_000 })
    if (subject === '7') throw new Error('on purpose')
  }
  const { service, counted, left } = await overdue(20)
  const began = Date.now()
  await service.ready()
  await vi.waitUntil(() => ran.length === 1)
  expect(ran).toEqual(['the timer 7 failed and is set again'])
  const timers = await left()
  expect(timers).toHaveLength(20)
  expect(timers.map(({ subject }) => subject)).not.toContain('after 7')
  const failed = timers.find(({ id }) => id === 7)
  expect(failed).toMatchObject({ failures: 1 })
  expect(failed?.due_at).toBeGreaterThanOrEqual(began + 60_000)
  expect(failed?.due_at).toBeLessThanOrEqual(Date.now() + 75_000)
  // One more plans the sweep.
  expect(counted.timers).toBe(1 + 1)
  await service.close()
})

/** A user with an address that another one has. */
const twice = (subject: string): UserRow => ({
  id: Number(subject),
  email: 'same@example.test',
  made_by: null,
  generation: 0,
  email_verified_at: null,
  is_android: false,
  is_ios: false,
  created_at: 1,
  updated_at: 1,
  deleted_at: null,
})

test('a timer whose writes the storage refuses stops no other of its slice', async () => {
  job = async (tx, subject) => {
    if (subject === '3' || subject === '5') tx.put(users, twice(subject))
    ran.push(subject)
  }
  const { service, left } = await overdue(6)
  await service.ready()
  await vi.waitUntil(async () => (await left()).length === 1)
  expect(await left()).toMatchObject([{ id: 5, failures: 1 }])
  expect(ran.filter((line) => line.startsWith('the timer'))).toEqual(['the timer 5 failed and is set again'])
  await service.close()
})

test('a timer that an earlier job of its slice removes does not run', async () => {
  job = async (tx, subject) => {
    if (subject === '1') tx.remove(timerRows, 2)
    ran.push(subject)
  }
  const { service, left } = await overdue(3)
  await service.ready()
  await vi.waitUntil(async () => (await left()).length === 0)
  expect(ran).toEqual(['1', '3'])
  await service.close()
})
