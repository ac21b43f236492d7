import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { CLOCK_LEEWAY_MS } from '../../src/base/time.js'
import { drawJitter, isAnyAhead, MOST_JITTER, redate, waitAfter } from '../../src/jobs/schedule/due.js'
import { dueTimers, nextTimerDue, setTimer, type TimerRow, timers } from '../../src/jobs/schedule/timer.js'

const AT = Date.UTC(2031, 4, 1)
const HOUR = 3_600_000

test('work waits as its list says after each failure, and six hours after more of them', () => {
  expect([1, 2, 3, 4, 15].map((failures) => waitAfter([5, 30], failures))).toEqual([
    5,
    30,
    6 * HOUR,
    6 * HOUR,
    6 * HOUR,
  ])
})

test.each([
  [[0, 0], 'manual', 0],
  [[255, 255], 'manual', 0],
  [[0, 0], 'running', 0],
  [[128, 0], 'running', MOST_JITTER / 2],
  [[0, 128], undefined, MOST_JITTER / 512],
  [[255, 255], undefined, MOST_JITTER - MOST_JITTER / 65_536],
])('the bytes %j make every wait longer by one share on a clock that is %s', (bytes, mode, share) => {
  const random = { bytes: (count: number) => Uint8Array.from(bytes.slice(0, count)) }
  const sandbox = mode === undefined ? undefined : { clock: { mode } }
  const jitter = drawJitter({ random, sandbox } as unknown as Parameters<typeof drawJitter>[0])
  for (const ms of [0, 5000, HOUR, 6 * HOUR]) expect(jitter(ms)).toBe(Math.round(ms * (1 + share)))
})

test('a clock that was moved back leaves each wait as long as it was, and what is due at a date alone', async () => {
  const storage = memoryStorage()
  const later = AT + 400 * 24 * HOUR
  const waits = [0, 1000, 6 * HOUR]
  await storage.write(async (tx) => {
    for (const wait of waits) await setTimer(tx, { kind: 'waits', subject: '', at: later + wait, now: later })
    await setTimer(tx, { kind: 'dated', subject: '', at: later })
    await setTimer(tx, { kind: 'waits', subject: 'near', at: AT + HOUR, now: AT + CLOCK_LEEWAY_MS })
    await setTimer(tx, { kind: 'waits', subject: 'late', at: later - 5, now: later })
    // More than one transaction takes.
    for (let n = 0; n < 450; n++) await setTimer(tx, { kind: 'many', subject: '', at: later + 7, now: later })
  })
  const ahead = (at: number) => storage.read((tx) => isAnyAhead(tx, timers, at))
  expect([await ahead(AT), await ahead(later), await ahead(later - CLOCK_LEEWAY_MS)]).toEqual([true, false, false])
  const service = { storage, clock: { now: () => AT } } as unknown as Parameters<typeof redate<TimerRow, string>>[1]
  await redate(timers, service)
  expect(await ahead(AT)).toBe(false)
  const rows = await storage.read((tx) => tx.find(timers, { index: 'id', prefix: [], limit: 999 }))
  expect(rows.slice(0, 6).map(({ due_at, due_set_at }) => [due_at, due_set_at])).toEqual([
    ...waits.map((wait) => [AT + wait, AT]),
    [later, undefined],
    [AT + HOUR, AT + CLOCK_LEEWAY_MS],
    [AT, AT],
  ])
  expect(
    rows.filter(({ kind, due_at, due_set_at }) => kind === 'many' && due_at === AT + 7 && due_set_at === AT),
  ).toHaveLength(450)
})

test('timers are due by their times, the earliest first, and dead letters never', async () => {
  const storage = memoryStorage()
  expect(await storage.read(nextTimerDue)).toBeUndefined()
  await storage.write(async (tx) => {
    tx.put(timers, { id: 900, kind: 'dead', subject: '', due_at: null, parked_at: 1 })
    for (const at of [30, 10, 20, 40]) await setTimer(tx, { kind: 'k', subject: `${at}`, at })
  })
  const due = (dueBy: number, limit = 9) =>
    storage.read(async (tx) => (await dueTimers(tx, dueBy, limit)).map(({ subject }) => subject))
  expect([await due(9), await due(10), await due(30), await due(99, 2)]).toEqual([
    [],
    ['10'],
    ['10', '20', '30'],
    ['10', '20'],
  ])
})
