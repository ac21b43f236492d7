import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { OutboxRow } from '../../src/base/message.js'
import { systemRandom } from '../../src/base/ports.js'
import type { ServiceContext } from '../../src/http/context.js'
import { Deliveries } from '../../src/jobs/outbox/deliveries.js'
import type { DeliveryHandlers } from '../../src/jobs/outbox/delivery.js'
import { postMail } from '../../src/jobs/outbox/outbox.js'
import { MOST_TRIES } from '../../src/jobs/schedule/due.js'
import { collection } from '../../src/storage/storage.js'

const AT = Date.UTC(2031, 4, 1)
const notes = collection<{ readonly id: string }>()('notes', {})

/** How often the port, the recording of its answer and the storage fail for each address, before all is well. */
const failures: Readonly<Record<string, { port?: number; record?: number; storage?: number }>> = {
  well: {},
  'port fails': { port: 2 },
  'recording fails': { record: 2 },
  // In the transaction of all, and then in its own: so does the recording of others in it.
  'storage refuses': { storage: 4 },
  'all fail': { port: 1, record: 1, storage: 2 },
  'recording always fails': { record: 99 },
  'port always fails': { port: 99 },
}

/** A storage that refuses every transaction that leaves this note. */
function refusing() {
  const storage = memoryStorage()
  const write: typeof storage.write = (body) =>
    storage.write(async (tx) => {
      const made = await body(tx)
      if (await tx.get(notes, 'refused')) throw new Error('the storage refuses it')
      return made
    })
  return { ...storage, write }
}

function started() {
  const storage = refusing()
  const clock = { at: AT, now: () => clock.at, mode: 'manual' }
  const [sent, errors, dead]: [string[], string[], object[]] = [[], [], []]
  const left = new Map(
    Object.entries(failures).map(([to, counts]) => [to, { port: 0, record: 0, storage: 0, ...counts }]),
  )
  const fails = (to: string, what: 'port' | 'record' | 'storage') => {
    const counts = left.get(to)
    return counts !== undefined && counts[what]-- > 0
  }
  const service = {
    ...{ storage, clock, sandbox: { clock }, instance: 'a', ongoing: new Map(), random: systemRandom },
    ...{ limits: { cardMs: 0 }, alarm: { set: () => () => {} } },
    log: { error: (line: string) => errors.push(line) },
    recordDeadLetter: async (_: unknown, letter: object) => void dead.push(letter),
  } as unknown as ServiceContext // As much of it as deliveries need.
  const mail: DeliveryHandlers['mail'] = async () => ({
    async send({ to }) {
      sent.push(to)
      if (fails(to, 'port')) throw new Error('the port fails')
      return 'sent'
    },
    async settle(tx, { to }) {
      tx.put(notes, { id: to })
      if (fails(to, 'record')) throw new Error('recording fails')
      if (fails(to, 'storage')) tx.put(notes, { id: 'refused' })
      return 'sent'
    },
  })
  return { storage, clock, sent, errors, dead, service, handlers: { mail } as unknown as DeliveryHandlers }
}

test('each message is sent until its port answers, and its answer is recorded once, whatever fails', async () => {
  const { storage, clock, sent, errors, dead, service, handlers } = started()
  await storage.write(async (tx) => {
    for (const to of Object.keys(failures)) await postMail(tx, { to, subject: '', text: '', at: AT })
  })
  let isWoken = true
  const deliveries = new Deliveries(handlers, service, () => (isWoken = true))
  let next: number | undefined
  for (let rounds = 0; rounds < 200; rounds++) {
    isWoken = false
    next = await deliveries.round()
    await new Promise((resolve) => setTimeout(resolve))
    if (isWoken) continue
    if (next === undefined) break
    clock.at = next
  }
  expect(next).toBeUndefined()
  const { rows } = await storage.export()
  const messages = new Map((rows.outbox as unknown as OutboxRow[]).map((message) => [message.to, message]))
  const times = Object.fromEntries(Object.keys(failures).map((to) => [to, sent.filter((each) => each === to).length]))
  expect(times).toEqual({
    ...{ well: 1, 'port fails': 3, 'recording fails': 1, 'storage refuses': 1, 'all fail': 2 },
    ...{ 'recording always fails': 1, 'port always fails': MOST_TRIES },
  })
  const ended = [...messages].map(([to, { status, attempts, parked_at, claim }]) => [
    to,
    status,
    attempts,
    parked_at,
    claim,
  ])
  const last = { parked: messages.get('recording always fails')?.parked_at }
  expect(last.parked).toBeGreaterThan(AT)
  expect(ended).toEqual([
    ['well', 'sent', 1, undefined, null],
    ['port fails', 'sent', 3, undefined, null],
    ['recording fails', 'sent', 2, undefined, null],
    ['storage refuses', 'sent', 3, undefined, null],
    ['all fail', 'sent', 3, undefined, null],
    ['recording always fails', 'pending', MOST_TRIES, last.parked, null],
    ['port always fails', 'failed', MOST_TRIES, undefined, null],
  ])
  expect(dead).toEqual([{ kind: 'mail', subject: 'recording always fails', id: 'message:6' }])
  const noted = (rows.notes ?? []).map(({ id }) => id)
  expect(noted.sort()).toEqual(['all fail', 'port fails', 'recording fails', 'storage refuses', 'well'])
  expect([...service.ongoing.keys()]).toEqual([])
  expect(errors.filter((line) => line.startsWith('the outcome of mail 4 could not be recorded'))).toHaveLength(2)
  expect(errors.filter((line) => line.includes('mail 7'))).toHaveLength(MOST_TRIES)
})

test.each<[string, (deliveries: Deliveries) => Promise<void>]>([
  ['a clock that is moved', (deliveries) => deliveries.finish(1000)],
  ['a service that closes', (deliveries) => deliveries.finishAll(new Promise(() => {}))],
])('%s waits for what is on its way, records it, and begins nothing', async (_, finish) => {
  const { storage, clock, sent, service } = started()
  let answer = () => {}
  const gate = new Promise<void>((resolve) => (answer = resolve))
  const mail: DeliveryHandlers['mail'] = async () => ({
    async send({ to }) {
      await gate
      sent.push(to)
      return 'sent'
    },
    settle: async (tx, { to }) => {
      tx.put(notes, { id: to })
      return 'sent'
    },
  })
  const post = (to: string) => storage.write((tx) => postMail(tx, { to, subject: '', text: '', at: clock.at }))
  await post('first')
  const deliveries = new Deliveries({ mail } as unknown as DeliveryHandlers, service, () => {})
  expect(await deliveries.round()).toBeUndefined()
  await post('second')
  const finished = finish(deliveries)
  answer()
  await finished
  const { rows } = await storage.export()
  expect(sent).toEqual(['first'])
  expect((rows.outbox as unknown as OutboxRow[]).map(({ to, status, claim }) => [to, status, claim])).toEqual([
    ['first', 'sent', null],
    ['second', 'pending', undefined],
  ])
  expect(rows.notes).toEqual([{ id: 'first' }])
})
