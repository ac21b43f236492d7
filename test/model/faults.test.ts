import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { SharedCounts, type Subject } from '../../src/sandbox/faults/armed-faults.js'
import { ArmedEngine } from '../../src/sandbox/faults/engine.js'
import type { Fault, FaultPoint } from '../../src/sandbox/onion/fault.js'
import { keepFaults } from '../../src/sandbox/settings/settings.js'
import { howMuch } from '../support/how-much.js'

const NOW = 1_790_000_000

function newEngine(shared = false) {
  const storage = memoryStorage()
  const clock = { now: NOW * 1000 }
  const seen = { isArmed: false, waits: [] as number[] }
  const engine = new ArmedEngine(
    {
      now: () => clock.now,
      instance: 'abc',
      counts: shared ? new SharedCounts(storage) : undefined,
      loadOperations: async () => ['readDq', 'pay'],
      onChange: (isArmed) => void (seen.isArmed = isArmed),
    },
    // Time passes at once.
    {
      set(ms: number, ring: () => void) {
        seen.waits.push(ms)
        queueMicrotask(ring)
        return () => {}
      },
    },
  )
  const share = () => storage.write((tx) => keepFaults(tx, engine.shared()))
  return { engine, storage, clock, seen, share }
}

/** The n-th number of mulberry32, as its author wrote it. */
function drawn(seed: number, n: number): number {
  let [a, value] = [seed, 0]
  for (let draw = 0; draw < n; draw++) {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    value = ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return value
}

/** A fault of the model: what is given, and how often it matched and happened. */
interface Known {
  readonly id: string
  readonly number: number
  readonly fault: Fault
  matched: number
  fired: number
}

const isSpent = ({ fault: { times }, fired }: Known) => times !== undefined && fired >= times

function isMatched({ match }: Fault, subject: Subject): boolean {
  if (match.port !== subject.port) return false
  for (const name of ['operation_id', 'method', 'principal'] as const)
    if (match[name] !== undefined && match[name] !== subject[name]) return false
  if (match.path === undefined) return true
  const pattern = match.path.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')
  return new RegExp(`^${pattern}$`, 's').test(subject.path ?? '')
}

/** Which fault happens to a subject, by the words of the documentation. */
function take(known: Known[], at: FaultPoint, subject: Subject, now: number): string | undefined {
  for (const each of known) {
    const { fault } = each
    const { every = 1, probability = 1, seed = each.number, until } = fault
    if (fault.at !== at || isSpent(each) || (until !== undefined && now >= Number(until)) || !isMatched(fault, subject))
      continue
    each.matched++
    if (each.matched % every !== 0 || drawn(seed, each.matched / every) >= probability) continue
    each.fired++
    return each.id
  }
  return undefined
}

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const path = fc.constantFrom('/v4/pay/1', '/v4/pay', '/v4/dq', '/', '/v4/pay/1/pay')
const point = fc.constantFrom('before' as const, 'after_commit' as const)
const someMatch = fc.oneof(
  fc.record({
    operation_id: optional(fc.constantFrom('readDq', 'pay')),
    method: optional(fc.constantFrom('GET' as const, 'POST' as const)),
    path: optional(fc.constantFrom('*', '/v4/pay', '/v4/*', '/v4/*/1', '*pay', '/*/pay/*', '/v4/pay/1*1', '/v4/**')),
    principal: optional(fc.constantFrom('user:1', 'guest')),
  }),
  fc.record({ port: fc.constantFrom('mail' as const, 'upstream' as const) }),
  fc.record({ port: fc.constant('upstream' as const), path: fc.constantFrom('*', '/v4/*') }),
)
const someFault = fc.record({
  ...{ match: someMatch, at: point, do: fc.constant({ drop: true as const }) },
  ...{ id: optional(fc.constantFrom('a', 'fault_2', 'fault_3')), times: optional(fc.integer({ min: 1, max: 2 })) },
  ...{ every: optional(fc.integer({ min: 1, max: 3 })), probability: optional(fc.constantFrom(0, 0.3, 1)) },
  until: optional(fc.constantFrom(NOW + 1, NOW + 3)),
})
const someSubject = fc.oneof(
  fc.record({
    operation_id: fc.constantFrom('readDq', 'pay'),
    ...{ method: fc.constantFrom('GET', 'POST'), path, principal: fc.constantFrom('user:1', 'guest', null) },
  }),
  fc.record({ port: fc.constantFrom('mail', 'upstream') }),
)
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('arm' as const), faults: fc.array(someFault, { maxLength: 2 }) }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('take' as const), at: point, subject: someSubject }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'disarm' as const), which: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('wait' as const, 'clear' as const) }) },
)

test.each([false, true])('faults happen as their words say, counted together: %s', async (shared) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const { engine, clock, seen, share } = newEngine(shared)
      let known: Known[] = []
      let last = 0
      for (const each of steps) {
        if (each.do === 'arm') {
          const ids = new Set(known.map(({ id }) => id))
          let number = last
          const added: Known[] = []
          for (const fault of each.faults) {
            if (fault.id !== undefined && ids.has(fault.id)) break
            do number++
            while (fault.id === undefined && ids.has(`fault_${number}`))
            const id = fault.id ?? `fault_${number}`
            ids.add(id)
            added.push({ id, number, fault, matched: 0, fired: 0 })
          }
          const preparing = engine.prepare(each.faults)
          if (added.length < each.faults.length)
            await expect(preparing).rejects.toMatchObject({ code: 'already_exists' })
          else {
            const armed = (await preparing).arm()
            expect(armed.map(({ id, fired }) => [id, fired])).toEqual(added.map(({ id }) => [id, 0]))
            known.push(...added)
            last = number
          }
        } else if (each.do === 'take') {
          const expected = take(known, each.at, each.subject, clock.now / 1000)
          const asked = { ...each.subject, principal: undefined }
          const needs = known.some(
            ({ fault: { match } }) =>
              match.principal !== undefined && isMatched({ match: { ...match, principal: undefined } } as Fault, asked),
          )
          expect(engine.needsPrincipal(asked)).toBe(needs)
          const taken = await engine.take(each.at, each.subject)
          expect([taken?.id, taken?.fired]).toEqual([expected, known.find(({ id }) => id === expected)?.fired])
        } else if (each.do === 'cancel') {
          const given = { match: {}, at: 'mid_body' as const, do: { drop: true as const } }
          const prepared = await engine.prepare([given])
          expect(await engine.take('mid_body', {})).toBeUndefined()
          expect(engine.shared()).toHaveLength(known.length)
          prepared.cancel()
          const ids = known.map(({ id }) => id)
          do last++
          while (ids.includes(`fault_${last}`))
        } else if (each.do === 'disarm') {
          const one = known[each.which]
          if (one) engine.disarm(one.id)
          else expect(() => engine.disarm('unknown')).toThrow(expect.objectContaining({ code: 'not_found' }))
          known = known.filter((other) => other !== one)
        } else if (each.do === 'wait') clock.now += 2000
        else {
          engine.clear()
          known = []
          last = 0
        }
        if (shared) await share()
        expect((await engine.list()).map(({ id, fired }) => [id, fired])).toEqual(
          known.map(({ id, fired }) => [id, fired]),
        )
        if (each.do !== 'wait' && known.length > 0) expect(seen.isArmed).toBe(known.some((one) => !isSpent(one)))
      }
    }),
    { numRuns: howMuch(shared ? 25 : 60, 2000) },
  )
})
