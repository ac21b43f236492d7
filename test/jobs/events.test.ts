import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { listEvents, putEvent } from '../../src/jobs/events/event.js'

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
})
