import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemRandom } from '../../src/base/ports.js'
import { Heartbeats } from '../../src/jobs/processes/heartbeats.js'
import { ProcessGroup } from '../../src/jobs/processes/process-group.js'
import {
  type ControlKind,
  controlRow,
  processes,
  processRow,
  readControl,
  type withProcesses,
} from '../../src/jobs/processes/process-rows.js'
import { StorageClosed, StorageUnavailable } from '../../src/storage/storage.js'
import { TestTime } from '../support/scenes/processes.js'

/** What others see: a process beats each second, and is dead after ten without. */
const BEAT_MS = 1000
const DEAD_MS = 10_000
const LATE_MS = 20_000

/** Processes that share a storage, and the time. Each writes down what its group asks of it. */
function newWorld() {
  const time = new TestTime()
  const storage = memoryStorage()
  const members: Member[] = []
  /** The processes that run a job, by their names. */
  const running = new Set<string>()
  const rows = () => storage.read((tx) => tx.find(processes, { index: 'id', prefix: [], limit: 10 }))

  class Member {
    readonly asked: string[] = []
    readonly logged: string[] = []
    isResting = false
    isHung = false
    failure: Error | undefined
    readonly #missed: (() => void)[] = []
    readonly group: ProcessGroup

    constructor(
      readonly name: string,
      hinted: boolean,
    ) {
      const alarm = time.alarmFor(() => true)
      const kept = {
        ...storage,
        read: <T>(body: Parameters<typeof storage.read<T>>[0]) => this.#call(() => storage.read(body)),
        write: <T>(body: Parameters<typeof storage.write<T>>[0]) =>
          this.#call(async () => {
            const before = await rows()
            const result = await storage.write(body)
            if (hinted && JSON.stringify(await rows()) !== JSON.stringify(before))
              for (const other of members) if (other !== this && !other.isHung) other.group.notice()
            return result
          }),
      }
      this.group = new ProcessGroup(
        {
          instance: name,
          storage: kept as typeof storage, // What a group calls.
          random: systemRandom,
          log: { error: (message) => void this.logged.push(message) },
          alarm: { set: (ms, ring) => alarm.set(ms, () => (this.isHung ? void this.#missed.push(ring) : ring())) },
        },
        {
          pause: async () => this.#note('pause', () => (this.isResting = true)),
          resume: async () => this.#note('resume', () => (this.isResting = false)),
          store: async () => this.#note('store'),
          follow: async (kind) => this.#note(`follow ${kind}`),
          takeOver: async () => this.#note('take over'),
        },
      )
      members.push(this)
    }

    /** Runs a control, whose job takes `ms`. */
    run(kind: ControlKind, ms = 0, ends: () => string = () => 'done'): Promise<string> {
      return this.group.together(kind, async () => {
        running.add(this.name)
        this.asked.push('job')
        const others = members.filter((each) => each !== this && this.group.names.includes(each.name))
        expect([...running], 'one control at a time').toEqual([this.name])
        if (kind !== 'faults') for (const each of others) expect(each.isResting, `${each.name} rests`).toBe(true)
        if (ms > 0) await new Promise<void>((resolve) => time.alarmFor(() => true).set(ms, resolve))
        running.delete(this.name)
        return ends()
      })
    }

    takeAsked(): string[] {
      return this.asked.splice(0)
    }

    hang(): void {
      this.isHung = true
      running.delete(this.name)
    }

    wakeUp(): void {
      this.isHung = false
      for (const ring of this.#missed.splice(0)) ring()
    }

    #note(what: string, effect = () => {}): void {
      this.asked.push(what)
      effect()
    }

    /** A hung process gets no answer before it wakes up. */
    async #call<T>(act: () => Promise<T>): Promise<T> {
      if (this.isHung) await new Promise<void>((resolve) => this.#missed.push(resolve))
      if (this.failure) throw this.failure
      return act()
    }
  }

  return {
    time,
    storage,
    async start(names: readonly string[], { hinted = true } = {}): Promise<Member[]> {
      const added = names.map((name) => new Member(name, hinted))
      for (const { group } of added) await time.during(group.enter())
      await time.pass(2 * BEAT_MS)
      for (const each of members) each.takeAsked()
      return added
    },
    rows,
    check: (member: Member) => storage.read((tx) => member.group.check(tx)),
  }
}

async function world(names: string, options = {}) {
  const made = newWorld()
  const [a, b, c] = await made.start([...names], options)
  if (!a || !b) throw new Error('a test needs two processes')
  return { ...made, a, b, c: c ?? b }
}

describe.each([{ hinted: true }, { hinted: false }])('processes that share a storage (hints: $hinted)', (hints) => {
  test.each<ControlKind>(['clock', 'state'])('all others rest while one moves the %s, and follow it', async (kind) => {
    const { a, b, c, time } = await world('abc', hints)
    expect(await time.during(a.run(kind))).toBe('done')
    for (const other of [b, c]) expect(other.takeAsked()).toEqual(['pause', `follow ${kind}`, 'resume'])
    expect(a.takeAsked()).toEqual(['job', 'store'])
    for (const each of [a, b, c]) expect([await each.group.isInStep(), each.isResting]).toEqual([true, false])
  })

  test('nobody rests while faults are armed', async () => {
    const { a, b, time } = await world('ab', hints)
    await time.during(a.run('faults'))
    expect(b.takeAsked()).toEqual(['follow faults'])
  })

  test('controls at once run one after another, and all follow what each changed', async () => {
    const { a, b, c, time } = await world('abc', hints)
    await time.during(Promise.all([a.run('state', 300), b.run('clock', 300), c.run('faults', 300)]))
    await time.pass(2 * BEAT_MS)
    for (const each of [a, b, c])
      expect([await each.group.isInStep(), each.isResting, each.logged]).toEqual([true, false, []])
    for (const each of [b, c]) expect(each.takeAsked()).toContain('follow state')
  })

  test('a process that sees the next control before it has followed the last one follows both', async () => {
    const { a, b, c, time } = await world('abc', hints)
    await time.during(Promise.all([a.run('state', 300), b.run('faults', 3000)]))
    await time.pass(2 * BEAT_MS)
    expect(c.takeAsked()).toContain('follow state')
    expect([await c.group.isInStep(), c.isResting]).toEqual([true, false])
  })

  test('a process that hangs in its control is ended, and stores nothing until it has followed the others', async () => {
    const { a, b, c, time, check } = await world('abc', hints)
    const control = a.run('state', 500)
    control.catch(() => {})
    await time.until(() => a.asked.includes('job'))
    a.hang()
    await time.pass(DEAD_MS - 2 * BEAT_MS)
    expect([b.takeAsked(), b.isResting]).toEqual([['pause'], true])
    await time.pass(4 * BEAT_MS)
    for (const other of [b, c])
      expect(other.takeAsked()).toEqual(expect.arrayContaining(['take over', 'follow state', 'resume']))
    expect(b.group.names).toEqual(['b', 'c'])
    await expect(check(a)).rejects.toThrow(StorageUnavailable)
    a.takeAsked()
    a.wakeUp()
    await expect(time.during(control)).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(a.takeAsked()).toEqual(['pause', 'follow state', 'resume'])
    await check(a)
    await time.pass(2 * BEAT_MS)
    expect(await Promise.all([a, b, c].map(({ group }) => group.isInStep()))).toEqual([true, true, true])
    expect(b.group.names).toEqual(['b', 'a', 'c'])
    expect(await time.during(b.run('clock'))).toBe('done')
    expect(a.takeAsked()).toEqual(['pause', 'follow clock', 'resume'])
  })

  test('a job that fails ends its control, and its own error comes back', async () => {
    const { a, b, time } = await world('ab', hints)
    const fails = () => {
      throw new Error('the job failed')
    }
    await expect(time.during(a.run('state', 0, fails))).rejects.toThrow('the job failed')
    expect(b.takeAsked()).toEqual(['pause', 'follow state', 'resume'])
    expect(await time.during(b.run('state'))).toBe('done')
  })

  test('a process that enters while a control runs rests until it has ended', async () => {
    const { a, time, start } = await world('ab', hints)
    const control = a.run('clock', 5000)
    await time.until(() => a.asked.includes('job'))
    const [late] = await start(['d'], hints)
    expect(late?.isResting).toBe(true)
    await time.during(control)
    expect([late?.takeAsked(), late?.isResting]).toEqual([['follow clock', 'resume'], false])
  })
})

test('a control waits so long for a process that is alive and does not follow, and says who it was', async () => {
  const { a, b, c, time } = await world('abc')
  let follow = () => {}
  b.group.work.follow = () => new Promise<void>((resolve) => (follow = resolve))
  const control = a.run('clock')
  await time.pass(LATE_MS - 2 * BEAT_MS)
  expect(a.logged).toEqual([])
  expect(await time.during(control)).toBe('done')
  expect(a.logged).toEqual(['no answer to a control from b'])
  expect([c.isResting, await c.group.isInStep(), await b.group.isInStep()]).toEqual([false, true, false])
  follow()
  await time.until(() => b.group.isInStep())
  expect(b.isResting).toBe(false)
})

test('each lists those that are alive, itself first, and takes over from those that leave or die', async () => {
  const { a, b, c, time, rows } = await world('abc')
  expect([a, b, c].map(({ group }) => group.names.join(''))).toEqual(['abc', 'bac', 'cab'])
  await c.group.leave()
  await c.group.leave()
  await time.pass(BEAT_MS)
  expect([a.group.names, a.takeAsked(), c.takeAsked()]).toEqual([['a', 'b'], ['take over'], []])
  b.hang()
  await time.pass(DEAD_MS - 2 * BEAT_MS)
  expect([a.group.names, a.takeAsked()]).toEqual([['a', 'b'], []])
  await time.pass(4 * BEAT_MS)
  expect([a.group.names, a.takeAsked()]).toEqual([['a'], ['take over']])
  expect((await rows()).map(({ id }) => id)).toEqual(['process:a'])
})

test('a process that has left writes and follows nothing more', async () => {
  const { a, b, time, rows } = await world('ab')
  await b.group.leave()
  await time.during(a.run('state'))
  b.group.notice()
  await time.pass(5 * BEAT_MS)
  expect(b.takeAsked()).toEqual([])
  expect((await rows()).map(({ id }) => id)).toEqual(['control', 'process:a'])
})

test('a control whose process has left ends with the next look of another', async () => {
  const { a, b, time, storage } = await world('ab')
  a.run('clock', 60_000).catch(() => {})
  await time.until(() => a.asked.includes('job'))
  await a.group.leave()
  await time.pass(2 * BEAT_MS)
  expect(b.takeAsked()).toEqual(['pause', 'take over', 'follow clock', 'resume'])
  expect(await storage.read(readControl)).toEqual({ kind: 'clock', runBy: undefined, fence: 3 })
})

test('a storage that fails is logged and tried again, and one that is closed is not logged', async () => {
  const { a, time } = await world('ab')
  a.failure = new Error('gone')
  await time.pass(BEAT_MS)
  expect(a.logged).toContain('the process a could not be seen')
  a.failure = new StorageClosed()
  a.logged.length = 0
  await time.pass(2 * BEAT_MS)
  a.group.notice()
  await time.pass(BEAT_MS)
  expect(a.logged).toEqual([])
  a.failure = undefined
  await time.pass(2 * BEAT_MS)
  expect([await a.group.isInStep(), a.group.names]).toEqual([true, ['a', 'b']])
})

test('an imported state keeps the processes that use the storage, and none of its own', async () => {
  const { a, time } = await world('ab')
  await time.during(a.run('clock'))
  const own = { instance: 'old', random: systemRandom }
  const rows = {
    processes: [processRow(own, 7), controlRow({ kind: 'state', runBy: 'old', fence: 7 }), { id: 'other' }],
  }
  const state = { schema: 1, rows, other: 1 } as unknown as Parameters<typeof withProcesses>[0] // As far as it is read.
  const imported = await a.group.withRows(state)
  expect(imported.rows.processes?.map(({ id }) => id)).toEqual(['other', 'process:a', 'process:b', 'control'])
  expect(imported).toMatchObject({ schema: 1, other: 1 })
})

describe('heartbeats', () => {
  const rowOf = (id: string, holder: string) => ({ id, holder, fence: 0 })

  function heard() {
    const time = new TestTime()
    const open = new Set<symbol>()
    const alarm = time.alarmFor(() => true)
    const set = (ms: number, ring: () => void) => {
      const key = Symbol(`${ms}`)
      open.add(key)
      const cancel = alarm.set(ms, () => {
        open.delete(key)
        ring()
      })
      return () => {
        open.delete(key)
        cancel()
      }
    }
    return { time, open, heartbeats: new Heartbeats({ set }, DEAD_MS) }
  }

  test('a row that stays the same for ten seconds is over, and no sooner', async () => {
    const { time, heartbeats } = heard()
    const row = rowOf('process:b', 'b:1')
    expect(heartbeats.isOver(row)).toBe(false)
    heartbeats.record([row])
    await time.pass(DEAD_MS - 1)
    heartbeats.record([row])
    expect(heartbeats.isOver(row)).toBe(false)
    await time.pass(1)
    expect([heartbeats.isOver(row), heartbeats.isOver(rowOf('process:b', 'b:2'))]).toEqual([true, false])
  })

  test('a changed row begins anew, and one that went is forgotten', async () => {
    const { time, heartbeats, open } = heard()
    heartbeats.record([rowOf('process:b', 'b:1'), rowOf('process:c', 'c:1')])
    await time.pass(DEAD_MS - 1)
    heartbeats.record([rowOf('process:b', 'b:2'), rowOf('process:c', 'c:1')])
    expect(open.size).toBe(2)
    await time.pass(1)
    expect(['b:2', 'c:1'].map((holder) => heartbeats.isOver(rowOf(`process:${holder[0]}`, holder)))).toEqual([
      false,
      true,
    ])
    heartbeats.record([rowOf('process:b', 'b:2')])
    expect(heartbeats.isOver(rowOf('process:c', 'c:1'))).toBe(false)
    heartbeats.record([])
    expect(open.size).toBe(0)
  })

  test('nothing rings after it stops', () => {
    const { heartbeats, open } = heard()
    heartbeats.record([rowOf('process:b', 'b:1'), rowOf('process:c', 'c:1')])
    heartbeats.stop()
    expect(open.size).toBe(0)
  })
})
