import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { Watches } from '../../src/jobs/watches/watches.js'
import { type Following, followEntries, streamEntries } from '../../src/sandbox/journal/follow.js'
import { Journal } from '../../src/sandbox/journal/journal.js'
import type { KeptEntry } from '../../src/sandbox/journal/kept-entry.js'

/** A journal and its followers, in a time that passes when a test says so. */
function start() {
  const journal = new Journal({ clock: { now: () => 1_790_000_000_000 }, instance: 'abc', history: undefined })
  const pauses = new Map<() => void, number>()
  const set = (ms: number, ring: () => void) => {
    pauses.set(ring, ms)
    return () => void pauses.delete(ring)
  }
  const watches = new Watches({ alarm: { set } })
  const service = { background: watches } as unknown as Parameters<typeof followEntries>[2]
  let begun = 0
  const begin = (kind = 'sweep') => {
    const recording = journal.beginWork({ origin: 'timer', kind, id: ++begun })
    return { recording, entry: journal.entry(recording.id ?? '') as KeptEntry }
  }
  const run = (kind?: string) => {
    const { recording, entry } = begin(kind)
    recording.end({})
    return entry
  }
  const ending = new AbortController()
  const following = (more: Partial<Following> = {}) => ({ matches: () => true, signal: ending.signal, ...more })
  return {
    ...{ journal, watches, service, begin, run, ending },
    follow: (more?: Partial<Following>) => followEntries(journal, following(more), service),
    stream: (more?: Partial<Following>) => streamEntries(journal, following(more), service),
    /** A time without anything passes. */
    passTime: () => {
      for (const ring of [...pauses.keys()]) ring()
    },
    pauses: () => [...pauses.values()],
  }
}

/** Lets everything happen that waits for no time. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('a stream says at once that it is connected, then each entry as it ends, and every 15 seconds of silence', async () => {
  const { stream, run, begin, passTime, pauses, ending } = start()
  const events = stream()
  expect(await events.next()).toEqual({ done: false, value: ': following\n' })
  for (const silence of [1, 2]) {
    const next = events.next()
    await settle()
    expect(pauses(), `silence ${silence}`).toEqual([15_000])
    passTime()
    expect((await next).value).toBe(': nothing new\n')
  }
  const next = events.next()
  await settle()
  const running = begin()
  await settle()
  const entry = run()
  const { value } = await next
  expect(value).toMatch(/^event: request\ndata: .*\nid: req_abc_0000002\n\n$/)
  expect(JSON.parse(String(value?.split('\n')[1]?.slice(6)))).toMatchObject({ id: entry.id, method: 'RUN' })
  running.recording.end({})
  expect((await events.next()).value).toContain(`id: ${running.entry.id}\n`)
  const last = events.next()
  await settle()
  ending.abort()
  expect(await last).toEqual({ done: true, value: undefined })
})

test('who follows gets entries that match, in the order in which they end, and hears of no silence', async () => {
  const { follow, run, begin, passTime, ending } = start()
  run('mail')
  const entries = follow({ matches: ({ operation_id }) => operation_id === 'mail' })
  const seen: string[] = []
  const reading = (async () => {
    for await (const { id } of entries) seen.push(id)
  })()
  await settle()
  const [slow, other] = [begin('mail'), begin('push')]
  const expected = [run('mail').id, run('mail').id]
  await settle()
  passTime()
  await settle()
  other.recording.end({})
  slow.recording.end({})
  await settle()
  run('push')
  await settle()
  expect(seen).toEqual([...expected, slow.entry.id])
  ending.abort()
  await reading
})

test('a follower begins with what ended since the entry that it saw, and misses nothing while its filter is checked', async () => {
  const { follow, run, begin, ending } = start()
  const seen = run('mail')
  const missed = run('mail')
  run('push')
  begin('mail')
  let checked = () => {}
  const check = () => new Promise<void>((resolve) => (checked = resolve))
  const entries = follow({ after: seen.id, check, matches: ({ operation_id }) => operation_id === 'mail' })
  const first = entries.next()
  await settle()
  const meanwhile = run('mail')
  checked()
  expect((await first).value?.id).toBe(missed.id)
  expect((await entries.next()).value?.id).toBe(meanwhile.id)
  const next = entries.next()
  await settle()
  ending.abort()
  expect((await next).done).toBe(true)
})

test('what follows is plain JSON, as a reader of the journal sees it', async () => {
  const { follow, run } = start()
  const entries = follow()
  const next = entries.next()
  await settle()
  const entry = run()
  const { value } = await next
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(value).toEqual(JSON.parse(JSON.stringify({ ...value, id: entry.id, at: entry.at, path: 'timers/1' })))
})

test('a slow reader of many entries loses the oldest beyond 1,000', async () => {
  const { follow, run, ending } = start()
  const entries = follow()
  const first = entries.next()
  await settle()
  const ids = Array.from({ length: 1005 }, () => run().id)
  const seen = [(await first).value?.id]
  while (seen.length < 1000) seen.push((await entries.next()).value?.id)
  expect(seen).toEqual(ids.slice(-1000))
  const next = entries.next()
  await settle()
  ending.abort()
  expect((await next).done).toBe(true)
})

test.each(['the signal', 'the service', 'the reader', 'a filter that no entry can match'])(
  'a stream that ends with %s leaves no listener behind',
  async (by) => {
    const { journal, stream, run, watches, ending } = start()
    let heard = 0
    const isWatched = () => {
      const before = heard
      run()
      return heard > before
    }
    const matches = () => ++heard > 0
    const isWrong = by === 'a filter that no entry can match'
    const events = stream({ matches, ...(isWrong && { check: () => Promise.reject(new Error('no such operation')) }) })
    await events.next()
    const next = events.next()
    if (isWrong) await expect(next).rejects.toThrow('no such operation')
    else {
      await settle()
      expect(isWatched()).toBe(true)
      await next
      const last = events.next()
      await settle()
      if (by === 'the signal') ending.abort()
      else if (by === 'the service') watches.end()
      else run()
      if (by === 'the reader') await events.return(undefined)
      expect((await last).done).toBe(by !== 'the reader')
    }
    expect(isWatched()).toBe(false)
    expect(getEventListeners(ending.signal, 'abort')).toHaveLength(0)
    expect(journal.size.entries).toBeGreaterThan(0)
  },
)

test('a stream whose signal has fired already ends at once', async () => {
  const { follow, ending, run } = start()
  const seen = run()
  run()
  ending.abort()
  expect((await follow({ after: seen.id }).next()).done).toBe(true)
})
