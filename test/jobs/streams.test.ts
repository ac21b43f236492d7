import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { ServiceContext } from '../../src/http/context.js'
import { putEvent } from '../../src/jobs/events/event.js'
import { followEvents } from '../../src/jobs/events/streams.js'
import { Watches, type WatchOptions } from '../../src/jobs/watches/watches.js'
import type { Reader } from '../../src/storage/storage.js'

/** A stream of one type or group over a log, with its reads and the alarms that are set. */
async function streamed(type: string, rare: readonly number[]) {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    for (let id = 1; id <= 4500; id++) {
      const type = rare.includes(id) ? `client.rare.${id}` : 'client.often'
      await putEvent(tx, { id, type, owners: ['user:1'], actor: 'user:1', subject: null, data: {}, at: 0 })
    }
  })
  const open = new Set<object>()
  const alarm = {
    set() {
      const set = {}
      open.add(set)
      return () => open.delete(set)
    },
  }
  const seen = { reads: 0 }
  const watches = new Watches({ alarm })
  const read: typeof storage.read = (body) => {
    // A stream that reads the same again would never end.
    if (seen.reads++ > 20) throw new Error('it reads in circles')
    return storage.read(body)
  }
  const watch = (options: Omit<WatchOptions, 'storage'>, look: (tx: Reader) => Promise<unknown>) =>
    watches.watch({ ...options, storage: { read } }, look)
  const service = { storage: { ...storage, read }, background: { watch }, alarm } as unknown as ServiceContext
  const following = { owner: 'user:1', type, after: 0, isAuthenticated: async () => true, ending: undefined } as const
  return { stream: followEvents(following, service), seen, open, watches }
}

const idsIn = (chunk: string | undefined) => [...(chunk ?? '').matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

test('a stream of a group reads each event once, however many lie between those that match, and waits once', async () => {
  const { stream, seen, open } = await streamed('client.rare.*', [10, 4400, 4401])
  const chunks: string[] = []
  while (chunks.flatMap(idsIn).length < 3) chunks.push((await stream.next()).value)
  expect(chunks.flatMap(idsIn)).toEqual([10, 4400, 4401])
  expect(seen.reads).toBeLessThan(6)
  // That of the whole stream, and that of the wait.
  expect(open.size).toBe(2)
  await stream.return?.()
  await new Promise((resolve) => setTimeout(resolve))
  expect(open.size).toBe(0)
})
