import { afterEach, expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { setTimer, type TimerJob } from '../../src/jobs/schedule/timer.js'
import type { Storage, Writer } from '../../src/storage/storage.js'

const ran: string[] = []
let job: TimerJob = async () => {}

vi.mock('../../src/timers.js', () => ({
  timerJobs: { test: (...given: Parameters<TimerJob>) => job(...given) },
}))

afterEach(() => {
  ran.length = 0
  job = async () => {}
})

/** Runs a write through a service: what a feature would do. */
const throughService = async (storage: Storage, at: (tx: Writer) => Promise<unknown>) => {
  await storage.write(at)
}

async function sandbox(storage = memoryStorage()) {
  const service = createService({ storage, sandbox: true, log: { error: (message) => void ran.push(message) } })
  await service.sandbox.setClock({ mode: 'manual' })
  await service.sandbox.setClock({ set: 1_000_000 })
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
  expect((await storage.export()).rows.timers).toHaveLength(1)
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
  expect(ran).toEqual(['the timer 1 failed and is set again', 'sound'])
  expect((await storage.export()).rows.timers).toHaveLength(2)
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
  const parked = [{ id: 'timer:1', kind: 'test', subject: 'broken', parkedAt: expect.any(Number) }]
  expect(await service.unsettled.list()).toEqual(parked)
  for (const left of [parked, []]) {
    await service.unsettled.retry('timer:1')
    await service.sandbox.advance('1s')
    expect(await service.unsettled.list()).toEqual(left)
  }
  expect(tries).toBe(18)
  await expect(service.unsettled.retry('timer:1')).rejects.toMatchObject({ code: 'not_found' })
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
