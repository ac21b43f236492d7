import { describe, expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemRandom } from '../../src/base/ports.js'
import { problem } from '../../src/base/problem.js'
import { storeNothing } from '../../src/http/context.js'
import { type FlowRun, runFlow } from '../../src/jobs/flows/flow.js'
import { collection, type Writer } from '../../src/storage/storage.js'
import { gate } from '../support/scenes/card-service.js'

const notes = collection<{ readonly id: string; readonly token?: string }>()('notes', {})

/** A process whose alarm rings when the test says so. */
function newProcess(inner = memoryStorage({ rerun: true })) {
  const logged: string[] = []
  const alarms = new Map<() => void, number>()
  const process = {
    storage: { ...inner },
    instance: 'one',
    random: systemRandom,
    ongoing: new Map<string, Promise<unknown>>(),
    log: { error: (message: string) => void logged.push(message) },
    alarm: {
      set(ms: number, ring: () => void) {
        alarms.set(ring, ms)
        return () => void alarms.delete(ring)
      },
    },
  }
  const ring = () => {
    for (const each of [...alarms.keys()]) each()
  }
  const noted = async () => ((await inner.export()).rows.notes ?? []).map(({ id }) => id)
  const run = <T>(steps: (run: FlowRun) => Promise<T>) => runFlow('errand', process, steps)
  return { process, logged, alarms, ring, noted, run }
}

const note = (id: string) => async (tx: Writer) => tx.put(notes, { id })
const forget = (id: string) => async (tx: Writer) => tx.remove(notes, id)
const broken = () => Promise.reject(new Error('it broke'))

describe('A flow', () => {
  test('runs its steps in order and returns what the last one does', async () => {
    const { run, noted } = newProcess()
    const answer = await run(async (run) => {
      const first = await run.transaction('first', async (tx) => {
        await note('a')(tx)
        return 1
      })
      const second = await run.effect('second', 1000, async () => first + 1)
      return run.transaction('third', async () => second + 1)
    })
    expect([answer, await noted()]).toEqual([3, ['a']])
  })

  test('undoes the steps before one that throws, the last one first, and not the one that throws', async () => {
    const { run, noted, logged } = newProcess()
    const undone: string[] = []
    const step = (run: FlowRun, id: string, then = note(id)) =>
      run.transaction(id, then, async (tx) => {
        await forget(id)(tx)
        if (undone.at(-1) !== id) undone.push(id)
      })
    const failed = run(async (run) => {
      await step(run, 'a')
      await step(run, 'b')
      await step(run, 'c', broken)
    })
    await expect(failed).rejects.toThrow('it broke')
    expect([undone, await noted(), logged]).toEqual([['b', 'a'], [], []])
  })

  test('undoes what it can if the storage fails too, and logs the rest', async () => {
    const { run, noted, logged } = newProcess()
    const failed = run(async (run) => {
      await run.transaction('a', note('a'), forget('a'))
      await run.transaction('b', note('b'), broken)
      await run.effect('call', 1000, broken)
    })
    await expect(failed).rejects.toThrow('it broke')
    expect([await noted(), logged]).toEqual([['b'], ['errand: "call" failed, and is not undone yet']])
  })

  test('throws the problem that undoing returns, and logs the error behind it', async () => {
    const { run, logged } = newProcess()
    const failed = run(async (run) => {
      await run.transaction('a', note('a'), async () => problem('change_incomplete'))
      await run.effect('call', 1000, broken)
    })
    await expect(failed).rejects.toMatchObject({ code: 'change_incomplete' })
    expect(logged).toEqual(['errand: "call" failed'])
  })

  test('throws a problem that is its answer, and undoes nothing', async () => {
    const { run, noted } = newProcess()
    const refused = run(async (run) => {
      await run.transaction('a', note('a'), forget('a'))
      return run.transaction('b', async () => problem('upstream_failed'))
    })
    await expect(refused).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(await noted()).toEqual(['a'])
  })

  test('has a token of its own in each run, which names its service', async () => {
    const { run } = newProcess()
    const tokens = await Promise.all([1, 2].map(() => run(async ({ token }) => token)))
    expect(new Set(tokens).size).toBe(2)
    for (const token of tokens) expect(token).toMatch(/^one:[0-9a-f]{32}$/)
  })

  test('is in progress from its first transaction until it has ended and is undone', async () => {
    const { process, run } = newProcess()
    const { ongoing } = process
    const breaks = gate()
    const seen: (string | boolean)[] = []
    const failed = run(async (run) => {
      const isOngoing = async (at: string) => void seen.push(at, ongoing.has(run.token))
      await run.effect('ask', 1000, () => isOngoing('before'))
      const undo = async () => {
        if (seen.at(-2) !== 'undo') await isOngoing('undo')
      }
      await run.transaction('a', note('a'), undo)
      await run.effect('call', 1000, () => isOngoing('after'))
      await run.effect('call', 1000, () => breaks.opened.then(broken))
    })
    await vi.waitUntil(() => ongoing.size === 1)
    const [waiting] = ongoing.values()
    breaks.open()
    await Promise.all([waiting, expect(failed).rejects.toThrow('it broke')])
    expect(seen).toEqual(['before', false, 'after', true, 'undo', true])
    expect(ongoing.size).toBe(0)
  })
})

describe('An effect', () => {
  test('that answers in time leaves no alarm', async () => {
    const { run, alarms } = newProcess()
    expect(await run((run) => run.effect('call', 1000, async () => 'answer'))).toBe('answer')
    expect(alarms.size).toBe(0)
  })

  test('that never answers ends at its deadline, and the steps before it are undone', async () => {
    const { run, ring, alarms, noted } = newProcess()
    const failed = run(async (run) => {
      await run.transaction('a', note('a'), forget('a'))
      await run.effect('call', 1000, () => new Promise<never>(() => {}))
    })
    await vi.waitUntil(() => alarms.size === 1)
    expect([...alarms.values()]).toEqual([1000])
    ring()
    await expect(failed).rejects.toThrow('errand: "call" took longer than 1000 ms')
    expect(await noted()).toEqual([])
  })

  test('that answers after its deadline changes nothing', async () => {
    const { run, ring, alarms, noted } = newProcess()
    const late = gate()
    const failed = run(async (run) => {
      await run.transaction('a', note('a'), forget('a'))
      await run.effect('call', 1000, () => late.opened)
      await run.transaction('b', note('b'))
    })
    await vi.waitUntil(() => alarms.size === 1)
    ring()
    await expect(failed).rejects.toThrow('took longer')
    late.open()
    await late.opened
    expect(await noted()).toEqual([])
  })
})

describe('An answer that is only read', () => {
  test('is stored', async () => {
    const { run, noted } = newProcess()
    const store = async <T>(tx: Writer, answer: T) => {
      await note(`stored ${answer}`)(tx)
      return answer
    }
    expect(await run((run) => run.answer(async () => 42, store))).toBe(42)
    expect(await noted()).toEqual(['stored 42'])
  })

  test('counts even if it cannot be stored', async () => {
    const { process, run, logged } = newProcess()
    process.storage.write = broken
    expect(await run((run) => run.answer(async () => 42, storeNothing))).toBe(42)
    expect(logged).toEqual(['errand: the answer could not be stored'])
  })
})
