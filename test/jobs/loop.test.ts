import { expect, test } from 'vitest'
import { Loop } from '../../src/jobs/retries/loop.js'
import { StorageClosed } from '../../src/storage/storage.js'

/** A loop whose alarms ring when the test says so. */
function looped(round: () => Promise<number | undefined>, now = 1_000_000) {
  const rings: { ms: number; ring: () => void; isCancelled: boolean }[] = []
  const logged: string[] = []
  const loop = new Loop(
    { name: 'tests', round },
    {
      alarm: {
        set(ms, ring) {
          const set = { ms, ring, isCancelled: false }
          rings.push(set)
          return () => {
            set.isCancelled = true
          }
        },
      },
      clock: { now: () => now },
      log: { error: (line) => void logged.push(line) },
      sandbox: undefined,
    },
  )
  const idle = () => new Promise((resolve) => setTimeout(resolve, 0))
  const open = () => rings.filter(({ isCancelled }) => !isCancelled)
  return { loop, rings, logged, idle, open }
}

test('a round that fails is followed by another one soon, then later each time, at most five seconds', async () => {
  let rounds = 0
  const { loop, rings, logged, idle } = looped(async () => {
    rounds++
    throw new Error('on purpose')
  })
  loop.wake()
  await idle()
  for (let each = 0; each < 7; each++) {
    // What is written meanwhile does not shorten the pause.
    loop.wake()
    await idle()
    rings.at(-1)?.ring()
    await idle()
  }
  expect(rounds).toBe(8)
  expect(rings.map(({ ms }) => ms)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000])
  expect(logged).toHaveLength(8)
})

test('the loop ends without a word when the storage is closed', async () => {
  let rounds = 0
  const { loop, logged, idle, open } = looped(async () => {
    rounds++
    throw new StorageClosed()
  })
  loop.wake()
  await idle()
  loop.wake()
  await idle()
  expect({ rounds, logged, alarms: open().length }).toEqual({ rounds: 1, logged: [], alarms: 0 })
})

test('the pause is short again after a round that succeeds', async () => {
  const fails = [true, true, false, true]
  const { loop, rings, idle } = looped(async () => {
    if (fails.shift()) throw new Error('on purpose')
    return 1_000_000 + 7
  })
  loop.wake()
  await idle()
  for (let each = 0; each < 3; each++) {
    rings.at(-1)?.ring()
    await idle()
  }
  expect(rings.map(({ ms }) => ms)).toEqual([100, 200, 7, 100])
})

test('a loop that waits looks once a minute, however far away its work is', async () => {
  const { loop, rings, idle } = looped(async () => 1_000_000 + 400 * 86_400_000)
  loop.wake()
  await idle()
  rings.at(-1)?.ring()
  await idle()
  expect(rings.map(({ ms }) => ms)).toEqual([60_000, 60_000])
})

test('a loop without work sets no alarm', async () => {
  const { loop, rings, idle } = looped(async () => undefined)
  loop.wake()
  await idle()
  expect(rings).toEqual([])
})

test('a thousand wakes during a round bring one more round', async () => {
  let rounds = 0
  const { loop, idle } = looped(async () => {
    rounds++
    await new Promise((resolve) => setTimeout(resolve, 0))
    return undefined
  })
  for (let each = 0; each < 1000; each++) loop.wake()
  await Promise.resolve()
  for (let each = 0; each < 1000; each++) loop.wake()
  for (let each = 0; each < 5; each++) await idle()
  expect(rounds).toBe(2)
})

test('a paused loop begins no round, and resumes with one', async () => {
  let rounds = 0
  const { loop, idle } = looped(async () => {
    rounds++
    return undefined
  })
  await loop.pause()
  loop.wake()
  await idle()
  expect(rounds).toBe(0)
  loop.resume()
  await idle()
  expect(rounds).toBe(1)
})

test('a stopped loop has no alarm, and begins no round', async () => {
  let rounds = 0
  const { loop, open, idle } = looped(async () => {
    rounds++
    return 2_000_000
  })
  loop.wake()
  await idle()
  expect(open()).toHaveLength(1)
  await loop.stop()
  expect(open()).toEqual([])
  loop.wake()
  await idle()
  expect([rounds, open()]).toEqual([1, []])
})
