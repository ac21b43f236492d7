import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { Owner } from '../../src/base/owner.js'
import { findMatching, listEvents, putEvent } from '../../src/jobs/events/event.js'
import { matchesPattern } from '../../src/jobs/events/event-types.js'

test('a group of types is found among thousands of other events, page by page', async () => {
  const storage = memoryStorage()
  const rare = [3, 700, 1500, 1501, 2999]
  await storage.write(async (tx) => {
    for (let n = 1; n <= 3000; n++) {
      const type = rare.includes(n) ? `client.rare.${n}` : 'client.often'
      await putEvent(tx, { owners: ['user:1'], type, actor: 'user:1', subject: null, data: {}, at: n })
    }
  })
  const page = (after?: number) =>
    storage.read((tx) => listEvents(tx, 'user:1', { type: 'client.rare.*', limit: 2, ...(after && { after }) }))
  const first = await page()
  expect([first.events.map(({ id }) => id), first.next]).toEqual([[2999, 1501], 1501])
  const second = await page(1501)
  expect([second.events.map(({ id }) => id), second.next]).toEqual([[1500, 700], 700])
  const third = await page(700)
  expect([third.events.map(({ id }) => id), third.next]).toEqual([[3], null])
  // One call reads 2,000 events at most, and says where to go on.
  const none = (after?: number) =>
    storage.read((tx) => listEvents(tx, 'user:1', { type: 'client.none.*', ...(after && { after }) }))
  expect([await none(), await none(1001)]).toEqual([
    { events: [], next: 1001 },
    { events: [], next: null },
  ])
})

test('the pages of any type or group hold all events that match, once and in order, and so do those of a stream', async () => {
  const storage = memoryStorage()
  const types = ['client.a', 'client.a.b', 'payment.created', 'client.often', 'client.often', 'client.often']
  const sides: [Owner, Owner?][] = [
    ['user:1'],
    ['user:1', 'user:2'],
    ['user:2', 'user:1'],
    ['user:1', 'user:1'],
    ['user:2'],
  ]
  const written: { id: number; type: string; owners: [Owner, Owner?] }[] = []
  await storage.write(async (tx) => {
    for (let n = 0; n < 2600; n++) {
      // In between are more events of others and other types than one read takes.
      const isRare = n < 40 || n % 900 < 3 || n > 2590
      const type = (isRare ? types[n % types.length] : 'client.often') ?? ''
      const owners = sides[n % sides.length] ?? ['user:1']
      const { id } = await putEvent(tx, { owners, type, actor: 'user:1', subject: null, data: {}, at: n })
      written.push({ id, type, owners })
    }
  })
  for (const owner of ['user:1', 'user:2'] as const)
    for (const type of [undefined, '*', 'client.*', 'client.a.*', 'client.a', 'payment.*', 'payment.created'])
      for (const limit of type === undefined || type === '*' || type === 'client.*' ? [50, 99] : [1, 2, 7, 100]) {
        const expected = written
          .filter((event) => event.owners.includes(owner) && matchesPattern([type ?? '*'], event.type))
          .map(({ id }) => id)
        const listed: number[] = []
        let after: number | undefined
        do {
          const page = await storage.read((tx) => listEvents(tx, owner, { type, limit, after }))
          expect(page.events.length).toBeLessThanOrEqual(limit)
          listed.push(...page.events.map(({ id }) => id))
          after = page.next ?? undefined
        } while (after !== undefined)
        expect(listed).toEqual(expected.toReversed())
        const followed: number[] = []
        for (let past = 0, isMore = true; isMore; ) {
          const read = await storage.read((tx) => findMatching(tx, { owner, type, past, limit }))
          expect(read.rows.length).toBeLessThanOrEqual(limit)
          followed.push(...read.rows.map(({ id }) => id))
          past = read.last ?? past
          isMore = read.isMore
        }
        expect(followed).toEqual(expected)
      }
})
