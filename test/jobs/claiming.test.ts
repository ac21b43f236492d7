import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { OutboxRow, WebhookMessageRow } from '../../src/base/message.js'
import { systemRandom } from '../../src/base/ports.js'
import type { ServiceContext } from '../../src/http/context.js'
import { claimDue, findDue, inOrder, type Lane } from '../../src/jobs/outbox/claiming.js'
import { outbox } from '../../src/jobs/outbox/outbox.js'
import {
  endTurns,
  findWhetherTurnsWait,
  freePlace,
  QUEUE_PLACES,
  Shares,
  sharerOf,
} from '../../src/jobs/outbox/shares.js'

const AT = 1_000_000
const MESSAGES = 160
const shared: Lane = { name: 'webhook', most: 48, index: 'byKindAndDue', prefix: ['webhook'] }

/** Numbers that look random, and are the same in every run. */
function drawing(seed: number) {
  let last = seed
  return (most: number): number => {
    last = (last * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((last / 2 ** 31) * (most + 1))
  }
}

/** Few owners have most of the messages. Some are stale, and one owner has no queue. */
function messageOf(id: number, draw: (most: number) => number): WebhookMessageRow {
  const owner = Math.max(0, draw(15) - 11)
  const due_at = AT - 500 + id
  return {
    ...{
      id,
      kind: 'webhook',
      to: `https://host-${owner}.example.test/`,
      owner: `account:${owner}`,
      subject: '',
      text: '',
    },
    ...{
      created_at: 0,
      status: 'pending',
      attempts: 0,
      due_at,
      due_set_at: due_at,
      webhook_id: owner,
      delivery_id: id,
    },
    ...(owner !== 1 && { queue: `webhook:${owner}` }),
    stale_at: draw(19) === 0 ? AT : null,
  }
}

async function started(seed: number) {
  const draw = drawing(seed)
  const storage = memoryStorage()
  const messages = Array.from({ length: MESSAGES }, (_, n) => messageOf(n + 1, draw))
  const ongoing = new Map<string, undefined>()
  const of = { storage, instance: 'a', ongoing, random: systemRandom, clock: { now: () => AT } }
  const write = (from: number, to?: number) =>
    storage.write(async (tx) => messages.slice(from, to).forEach((message) => tx.put(outbox, message)))
  return { draw, storage, messages, write, service: of as unknown as ServiceContext } // As much of it as claims need.
}

/** The messages of one queue, or of one owner without, leave in this order. */
const orderOf = (messages: readonly OutboxRow[]): Record<string, number[]> => {
  const ids: Record<string, number[]> = {}
  for (const { owner = '', id } of messages) (ids[owner] ??= []).push(id)
  return ids
}

const byDue = (messages: readonly OutboxRow[]) =>
  messages.toSorted((a, b) => (a.due_at ?? 0) - (b.due_at ?? 0) || a.id - b.id)

test.each([
  ['share their places', shared, 1],
  ['leave in order', inOrder, 3],
] as const)(
  'messages that %s each leave once, in the order of their owner, and no place is taken twice',
  async (_, lane, seed) => {
    const { draw, storage, messages, write, service } = await started(seed)
    let running: OutboxRow[] = []
    const left: OutboxRow[] = []
    let [after, wereAside, rounds] = ['', 0, 0]
    for (; rounds < 200 && (rounds < 9 || running.length > 0); rounds++) {
      // They come in the order of their times, and most while others wait.
      await write(rounds * 20, rounds * 20 + 20)
      const claims = new Set(running.map(({ claim }) => claim ?? ''))
      const shares = new Shares(lane.most, { running: running.map(sharerOf), isSlow: () => false })
      const room = lane.most - running.length
      const found = await storage.write(async (tx) => {
        const sharing = { shares, areTurnsWaiting: await findWhetherTurnsWait(tx), after }
        return claimDue(tx, lane, { most: room, running: claims, ...(lane === shared && { sharing }) }, service)
      })
      after = found.after
      expect(found.claimed.length).toBeLessThanOrEqual(room)
      expect(found.unreadable).toEqual([])
      running = [...running, ...found.claimed]
      left.push(...found.claimed)
      expect(new Set(running.map(({ claim }) => claim)).size).toBe(running.length)
      const rows = (await storage.export()).rows.outbox as unknown as OutboxRow[]
      for (const each of found.claimed) {
        expect(rows.find(({ id }) => id === each.id)).toEqual(each)
        expect([each.attempts, each.slot_of]).toEqual([1, each.queue])
      }
      for (const queue of new Set(running.flatMap((each) => each.queue ?? [])))
        expect(running.filter((each) => each.queue === queue).length).toBeLessThanOrEqual(QUEUE_PLACES)
      // Whoever waits, and has nothing on its way, has no place to take.
      const waiting = rows.filter(({ claim, stale_at }) => !claim && stale_at === null)
      wereAside = Math.max(wereAside, waiting.filter(({ queued_in }) => queued_in !== undefined).length)
      for (const row of waiting)
        if (lane === shared && running.every(({ owner }) => owner !== row.owner))
          expect(shares.mayTake(sharerOf(row))).toBe(false)
      const ended = running.filter(() => draw(2) === 0)
      running = running.filter((each) => !ended.includes(each))
      for (const each of ended)
        await storage.write(async (tx) => {
          expect(await freePlace(tx, each, AT)).not.toHaveProperty('slot_of')
          tx.remove(outbox, each.id)
        })
    }
    expect(wereAside).toBeGreaterThan(10)
    expect((await storage.export()).rows.outbox ?? []).toEqual([])
    expect(orderOf(left)).toEqual(orderOf(byDue(messages.filter(({ stale_at }) => stale_at === null))))
  },
)

test('what waits for a place of its owner is due as it was when the clock is moved, and nothing waits for a turn then', async () => {
  const { storage, service, messages, write } = await started(5)
  await write(0)
  const shares = new Shares(shared.most, { running: [], isSlow: () => false })
  const sharing = { shares, areTurnsWaiting: false, after: '' }
  const claim = { most: shared.most, running: new Set<string>(), sharing }
  const { claimed } = await storage.write((tx) => claimDue(tx, shared, claim, service))
  expect(await storage.read(findWhetherTurnsWait)).toBe(true)
  while (await storage.write((tx) => endTurns(tx, AT)));
  expect(await storage.read(findWhetherTurnsWait)).toBe(false)
  const taken = new Set(claimed.map(({ id }) => id))
  const rest = byDue(messages.filter(({ id, queue }) => !taken.has(id) && queue === undefined))
  const search = { most: MESSAGES, running: claim.running }
  const { free, areHeld } = await storage.read((tx) => findDue(tx, inOrder, search, service))
  const found = free.filter(({ queue }) => queue === undefined)
  const stale = new Set(messages.filter(({ stale_at }) => stale_at !== null).map(({ id }) => id))
  expect(found.filter(({ id }) => !stale.has(id)).map(({ id, due_at }) => [id, due_at])).toEqual(
    rest.filter(({ id }) => !stale.has(id)).map(({ id, due_at }) => [id, due_at]),
  )
  expect(areHeld).toBe(false)
})

test('what a dead process had claimed keeps its places: all of it goes on at once, and nothing more of its queue', async () => {
  const { storage, service } = await started(6)
  const rows = Array.from({ length: QUEUE_PLACES + 3 }, (_, n) => ({ ...messageOf(n + 1, () => 0), stale_at: null }))
  await storage.write(async (tx) => {
    for (const row of rows) {
      const queue = 'webhook:0'
      const isTaken = row.id <= QUEUE_PLACES
      tx.put(outbox, { ...row, queue, ...(isTaken && { claim: `b:${row.id}`, attempts: 1, slot_of: queue }) })
    }
  })
  const search = { most: 32, running: new Set<string>() }
  const { claimed } = await storage.write((tx) => claimDue(tx, inOrder, search, service))
  expect(claimed.map(({ id, attempts }) => [id, attempts])).toEqual(
    rows.slice(0, QUEUE_PLACES).map(({ id }) => [id, 2]),
  )
  const left = (await storage.export()).rows.outbox as unknown as OutboxRow[]
  expect(left.slice(QUEUE_PLACES).map(({ queued_in, due_at }) => [queued_in, due_at])).toEqual(
    Array(3).fill(['webhook:0', null]),
  )
})
