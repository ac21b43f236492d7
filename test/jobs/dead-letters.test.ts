import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { MailRow } from '../../src/base/message.js'
import { listDeadLetters, retryDeadLetter } from '../../src/jobs/dead-letters/dead-letter.js'
import { outbox } from '../../src/jobs/outbox/outbox.js'
import { MOST_TRIES } from '../../src/jobs/schedule/due.js'
import { type TimerRow, timers } from '../../src/jobs/schedule/timer.js'

const AT = Date.UTC(2031, 4, 1)

const timer = (id: number, parked_at?: number): TimerRow => {
  const of = { id, kind: 'sweep', subject: `timer ${id}` }
  return parked_at === undefined ? { ...of, due_at: AT } : { ...of, due_at: null, failures: MOST_TRIES, parked_at }
}

const mail = (id: number, parked_at?: number): MailRow => ({
  ...{ id, kind: 'mail', to: `mail${id}@example.test`, subject: '', text: '', status: 'pending', created_at: 0 },
  ...{ stale_at: null, attempts: parked_at === undefined ? 1 : MOST_TRIES, due_set_at: null },
  ...(parked_at === undefined ? { due_at: AT } : { due_at: null, parked_at }),
})

/** Two dead letters of each kind, and one of each that waits for its time. */
async function stored() {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    for (const row of [timer(1, 30), timer(2), timer(3, 10)]) tx.put(timers, row)
    for (const row of [mail(1, 20), mail(2), mail(3, 40)]) tx.put(outbox, row)
  })
  const listed = async () => (await storage.read(listDeadLetters)).map(({ id }) => id)
  const retry = (id: string) => storage.write((tx) => retryDeadLetter(tx, id, AT))
  return { storage, listed, retry }
}

test('dead letters are listed by when they failed last, and what waits for its time is none', async () => {
  const { storage } = await stored()
  expect(await storage.read(listDeadLetters)).toEqual([
    { id: 'timer:3', kind: 'sweep', subject: 'timer 3', parkedAt: 10 },
    { id: 'message:1', kind: 'mail', subject: '', parkedAt: 20 },
    { id: 'timer:1', kind: 'sweep', subject: 'timer 1', parkedAt: 30 },
    { id: 'message:3', kind: 'mail', subject: '', parkedAt: 40 },
  ])
})

test.each(['timer:1', 'message:1'])('%s is due at once when it is retried, for one more try', async (id) => {
  const { storage, listed, retry } = await stored()
  await retry(id)
  expect(await listed()).toEqual(['timer:3', 'message:1', 'timer:1', 'message:3'].filter((each) => each !== id))
  const [timer, message] = await storage.read(async (tx) => [await tx.get(timers, 1), await tx.get(outbox, 1)] as const)
  const row = id.startsWith('timer') ? timer : message
  const tries = id.startsWith('timer') ? timer?.failures : message?.attempts
  expect([row?.due_at, row?.due_set_at, tries, row?.parked_at]).toEqual([AT, AT, MOST_TRIES - 1, undefined])
})

test.each([
  'timer:2',
  'message:2',
  'timer:4',
  'message:4',
  'timer:',
  'timer',
  '1',
  'timer:1x',
  'xtimer:1',
  'timer:-1',
  'charge:1',
  `timer:${'1'.repeat(16)}`,
])('%s names no dead letter, and nothing changes', async (id) => {
  const { storage, retry } = await stored()
  const before = await storage.export()
  await expect(retry(id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await storage.export()).toEqual(before)
})
