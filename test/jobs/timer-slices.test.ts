import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { ServiceContext } from '../../src/http/context.js'
import { MOST_TRIES } from '../../src/jobs/schedule/due.js'
import { runDueTimers, type TimerJobs } from '../../src/jobs/schedule/run.js'
import { setTimer, type TimerJob, timers } from '../../src/jobs/schedule/timer.js'
import { collection } from '../../src/storage/storage.js'

const AT = Date.UTC(2031, 4, 1)
const MINUTE = 60_000
const notes = collection<{ readonly id: string }>()('notes', { byId: { fields: ['id'] } })

/** A job that notes its subject and throws when `fails` says so, after what it wrote. */
const noting =
  (fails: (subject: string) => boolean = () => false): TimerJob =>
  async (tx, subject) => {
    tx.put(notes, { id: subject })
    if (fails(subject)) throw new Error(`${subject} fails`)
  }

function started(jobs: TimerJobs) {
  const storage = memoryStorage()
  const clock = { at: AT, now: () => clock.at }
  const [errors, dead]: [string[], object[]] = [[], []]
  const service = {
    ...{ storage, clock, sandbox: { clock: { mode: 'manual' } } },
    log: { error: (line: string) => errors.push(line) },
    recordDeadLetter: async (_: unknown, letter: object) => void dead.push(letter),
  } as unknown as ServiceContext // As much of it as timers need.
  return {
    ...{ storage, clock, errors, dead },
    set: (kind: string, subject: string, at = AT) => storage.write((tx) => setTimer(tx, { kind, subject, at })),
    run: () => runDueTimers(jobs, service),
    noted: async () => ((await storage.export()).rows.notes ?? []).map(({ id }) => id),
    left: () => storage.read((tx) => tx.find(timers, { index: 'id', prefix: [], limit: 999 })),
  }
}

test('what throws is undone alone, waits twice as long each time, and is a dead letter after its last try', async () => {
  const { clock, set, run, noted, left, errors, dead } = started({
    good: async () => noting(),
    bad: async () => noting(() => true),
  })
  for (const [kind, subject] of [
    ['good', '1'],
    ['bad', '2'],
    ['good', '3'],
  ] as const)
    await set(kind, subject)
  const waits: number[] = []
  for (let tries = 1; tries < MOST_TRIES; tries++) {
    const next = (await run()) ?? 0
    expect(await left()).toMatchObject([{ id: 2, failures: tries, due_at: next, due_set_at: clock.at }])
    waits.push((next - clock.at) / MINUTE)
    expect(dead).toEqual([])
    clock.at = next - 1
    expect(await run()).toBe(next)
    clock.at = next
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, ...Array(6).fill(360)])
  expect(await run()).toBeUndefined()
  const [parked] = await left()
  expect(parked).toEqual({ id: 2, kind: 'bad', subject: '2', due_at: null, failures: MOST_TRIES, parked_at: clock.at })
  expect(dead).toEqual([{ kind: 'bad', subject: '2', id: 'timer:2' }])
  expect(await noted()).toEqual(['1', '3'])
  expect(errors).toEqual(Array(MOST_TRIES).fill('the timer 2 failed and is set again'))
})

test('all that is due runs once, in the order of its times, in slices, and nothing before its time', async () => {
  const ran: string[] = []
  const { set, run, left } = started({ k: async () => async (_, subject) => void ran.push(subject) })
  for (let n = 0; n < 150; n++) await set('k', `${n}`, AT - 1000 + ((n * 7) % 150))
  await set('k', 'later', AT + 1)
  expect(await run()).toBe(AT + 1)
  expect(ran).toEqual(
    Array.from({ length: 150 }, (_, n) => n)
      .sort((a, b) => ((a * 7) % 150) - ((b * 7) % 150))
      .map(String),
  )
  expect(await left()).toHaveLength(1)
})

test.each<[string, TimerJobs, number]>([
  ['is of no kind that is known', {}, 0],
  ['cannot be loaded', { k: () => Promise.reject(new Error('no network')) }, 1],
])('a timer that %s holds up no other', async (_, jobs, stay) => {
  const { set, run, noted, left } = started({ other: async () => noting(), ...jobs })
  await set('k', '1')
  await set('other', '2')
  await run()
  expect([await noted(), (await left()).length]).toEqual([['2'], stay])
})

test('a job may remove another that is due, or set it for later: it does not run then', async () => {
  const { set, run, noted, left } = started({
    first: async () => async (tx) => {
      tx.remove(timers, 2)
      const third = await tx.get(timers, 3)
      if (third) tx.put(timers, { ...third, due_at: AT + 5 })
    },
    other: async () => noting(),
  })
  await set('first', '1')
  for (const subject of ['2', '3', '4']) await set('other', subject)
  expect(await run()).toBe(AT + 5)
  expect([await noted(), (await left()).map(({ id }) => id)]).toEqual([['4'], [3]])
})

test('what the storage refuses of one is known when each runs alone: the others run', async () => {
  const jobs: TimerJobs = {
    good: async () => noting(),
    bad: async () => async (tx) => tx.put(notes, { id: 'refused' }),
  }
  const { storage, set, run, noted, left } = started(jobs)
  const { write } = storage
  storage.write = (body) =>
    write(async (tx) => {
      const made = await body(tx)
      if (await tx.get(notes, 'refused')) throw new Error('the storage refuses it')
      return made
    })
  for (const [kind, subject] of [
    ['good', '1'],
    ['bad', '2'],
    ['good', '3'],
  ] as const)
    await set(kind, subject)
  expect(await run()).toBe(AT + MINUTE)
  expect([await noted(), (await left()).map(({ id, failures }) => [id, failures])]).toEqual([['1', '3'], [[2, 1]]])
})
