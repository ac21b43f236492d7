import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { Problem } from '../../src/base/problem.js'
import {
  addDaily,
  attemptsOf,
  countDaily,
  countRate,
  isRateReached,
  type RateLimit,
  rates,
  spendRate,
  uncountRate,
  waitOfDaily,
  waitText,
} from '../../src/jobs/rates/rate.js'

const LIMIT: RateLimit = { kind: 'test', most: 3, windowMs: 60_000, code: 'too_many_calls' }
const AT = Date.UTC(2031, 4, 1, 12)
const counted = { subject: 'user:1', at: AT }

test('a try that no longer counts leaves no row behind, and takes no other with it', async () => {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    await countRate(tx, LIMIT, { ...counted, times: 2 })
    await uncountRate(tx, LIMIT, { ...counted, at: AT - 1 })
    await uncountRate(tx, LIMIT, counted)
    expect(await attemptsOf(tx, LIMIT, counted)).toBe(1)
    await uncountRate(tx, LIMIT, counted)
    expect(await tx.find(rates, { index: 'id', prefix: [], limit: 10 })).toEqual([])
  })
})

test('more at once than a limit ever allows is refused without a time to try again', async () => {
  const storage = memoryStorage()
  const spend = (times: number) => storage.write((tx) => spendRate(tx, LIMIT, { ...counted, times }))
  const refused = async (times: number): Promise<Problem> => {
    const error = await spend(times).catch((thrown: unknown) => thrown)
    if (!(error instanceof Problem)) throw new Error('it was not refused')
    return error
  }
  const never = await refused(4)
  expect([never.code, never.headers['retry-after']]).toEqual(['too_many_calls', undefined])
  expect(never.message).toContain('This is 4 at once, and the limit is 3.')
  await spend(2)
  expect((await refused(2)).headers['retry-after']).toBe('60')
  await spend(1)
})

test('a day that another machine began half a minute ahead still counts, and one of a wrong clock does not', async () => {
  const storage = memoryStorage()
  const add = (at: number) => storage.write((tx) => addDaily(tx, { kind: 'things', subject: 'user:1', most: 1, at }, 1))
  expect([await add(AT), await add(AT - 30_000), await add(AT - 120_000)]).toEqual([true, false, true])
})

/** Numbers that look random, and are the same in every run. */
function* numbers(seed: number): Generator<number, never> {
  for (let last = seed; ; ) {
    last = (last * 1_103_515_245 + 12_345) % 2 ** 31
    yield last / 2 ** 31
  }
}

test('a try is refused exactly while the window is full, and Retry-After names the second in which it is not', async () => {
  const storage = memoryStorage()
  const random = numbers(7)
  const draw = (most: number) => Math.floor(random.next().value * (most + 1))
  const made = new Map<string, number[]>()
  let refusals = 0
  for (let step = 0, at = AT; step < 400; step++, at += draw(30) * 700) {
    const [subject, times] = [`user:${draw(1)}`, 1 + draw(1)]
    const counts = made.get(subject) ?? []
    const inWindow = (now: number) => counts.filter((time) => time > now - LIMIT.windowMs).length
    const isFull = (now: number) => inWindow(now) + times > LIMIT.most
    const tried = { subject, at, times }
    expect(await storage.read((tx) => attemptsOf(tx, LIMIT, tried))).toBe(inWindow(at))
    expect(await storage.read((tx) => isRateReached(tx, LIMIT, tried))).toBe(isFull(at))
    const refused = await storage.write((tx) => spendRate(tx, LIMIT, tried)).catch((error: Problem) => error)
    expect(refused instanceof Problem).toBe(isFull(at))
    if (refused instanceof Problem) {
      refusals++
      const seconds = Number(refused.headers['retry-after'])
      expect(refused.message).toContain(`Try again in ${seconds} seconds.`)
      expect([isFull(at + seconds * 1000), isFull(at + (seconds - 1) * 1000)]).toEqual([false, true])
      continue
    }
    made.set(subject, [...counts, ...Array<number>(times).fill(at)])
    const kept = await storage.read((tx) => tx.find(rates, { index: 'byEnd', prefix: [], limit: 9 }))
    expect(kept.at(-1)).toMatchObject({ until: at + LIMIT.windowMs, times: expect.arrayContaining([at]) })
    for (const { id, times: all } of kept) {
      expect(id).toMatch(/^test:[0-9a-f]{64}$/)
      expect(all.length).toBeLessThanOrEqual(LIMIT.most)
    }
  }
  expect(refusals).toBeGreaterThan(50)
})

test('a limit words its own refusal', async () => {
  const storage = memoryStorage()
  const limit = { ...LIMIT, most: 1, detail: (seconds: number) => `Wait ${seconds}.` }
  await storage.write((tx) => countRate(tx, limit, counted))
  const refused = storage.write((tx) => spendRate(tx, limit, { ...counted, at: AT + 59_999 }))
  await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('Wait 1.') })
})

test('a day begins with the first of its things, holds as many as the limit says, and says when the next one begins', async () => {
  const storage = memoryStorage()
  const DAY_MS = 86_400_000
  const ofDay = (at: number) => ({ kind: 'free_links', subject: 'user:1', most: 2, at })
  const create = (at: number, sandbox?: unknown) =>
    storage
      .write((tx) => countDaily(tx, ofDay(at), { sandbox } as Parameters<typeof countDaily>[2]))
      .then(() => undefined)
      .catch((error: Problem) => error)
  const wait = (at: number) => storage.read((tx) => waitOfDaily(tx, ofDay(at)))
  expect([await wait(AT), await create(AT), await wait(AT), await create(AT + 5)]).toEqual(Array(4).fill(undefined))
  for (const [later, seconds] of [
    [5, 86_400],
    [1000, 86_399],
    [DAY_MS - 1, 1],
  ] as const) {
    expect(await wait(AT + later)).toBe(seconds)
    const refused = await create(AT + later)
    expect([refused?.code, refused?.headers['retry-after']]).toEqual(['too_many_new', String(seconds)])
    expect(refused?.body).toMatchObject({ of: 'free_links', limit: 2 })
    expect(refused?.message).toContain(
      `The limit is 2 free links a day. Try again in ${seconds} seconds, or raise \`limits.newPerDay\`.`,
    )
  }
  expect([await wait(AT + DAY_MS), await create(AT + DAY_MS), await wait(AT + DAY_MS)]).toEqual(
    Array(3).fill(undefined),
  )
  const add = (amount: number) =>
    storage.write((tx) => addDaily(tx, { ...ofDay(AT), subject: 'other', most: 10 }, amount))
  expect([await add(9), await add(9), await add(1)]).toEqual([true, true, false])
})

test.each([
  [
    'manual',
    'raise it',
    'The clock of this sandbox stands still. Move it on by 5 seconds with POST /_sandbox/clock, or raise `raise it`.',
  ],
  ['manual', undefined, 'The clock of this sandbox stands still. Move it on by 5 seconds with POST /_sandbox/clock.'],
  ['running', undefined, 'Try again in 5 seconds.'],
  [undefined, 'limits.x', 'Try again in 5 seconds, or raise `limits.x`.'],
])('a wait with a clock that is %s, and the option %s, ends so: %s', (mode, option, text) => {
  const sandbox = mode === undefined ? {} : { sandbox: { clock: { mode } } }
  expect(waitText(5, { ...(option !== undefined && { option }), ...sandbox } as Parameters<typeof waitText>[1])).toBe(
    text,
  )
})
