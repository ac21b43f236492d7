import { onTestFinished } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import type { Alarm, Clock } from '../../../src/base/ports.js'
import { createService, type ServiceOptions } from '../../../src/index.js'
import type { Storage } from '../../../src/storage/storage.js'
import { Transaction } from '../../../src/storage/transaction.js'
import { type Call, caller } from '../api.js'

// Loading a part takes real time, in which too much of the time of a test would pass.
await Promise.all([
  import('../../../src/routes.js'),
  import('../../../src/jobs/processes/process-group.js'),
  import('../../../src/sandbox/controls/unfinished.js'),
  import('../../../src/sandbox/controls/unfinished.js'),
  import('../../../src/sandbox/faults/engine.js'),
])

/** Real time that passes only when the test says so, for several processes. */
export class TestTime {
  #now = Date.UTC(2026, 0, 1)
  readonly #rings = new Set<{ readonly at: number; readonly ring: () => void }>()
  readonly clock: Clock = { now: () => this.#now }

  /** `waitMs`: how much real time 50 ms take while someone waits for something. A database needs some. */
  constructor(readonly waitMs = 0) {}

  alarmFor(isAlive: () => boolean): Alarm {
    return {
      set: (ms, ring) => {
        const entry = { at: this.#now + Math.max(ms, 0), ring: () => isAlive() && ring() }
        this.#rings.add(entry)
        return () => this.#rings.delete(entry)
      },
    }
  }

  async pass(ms: number): Promise<void> {
    const end = this.#now + ms
    await turns()
    for (;;) {
      const [first] = [...this.#rings].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!first) break
      this.#rings.delete(first)
      this.#now = Math.max(this.#now, first.at)
      first.ring()
      await turns()
    }
    this.#now = end
  }

  /** Lets time pass until a promise settles. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false
    const settled = promise.finally(() => (isSettled = true))
    settled.catch(() => {})
    await turns()
    while (!isSettled) await this.pass(50).then(() => this.#turnOfReality())
    return settled
  }

  /** Lets time pass until something holds. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    for (let tries = 0; !(await holds()); tries++) {
      if (tries > 2000) throw new Error('it never held')
      await this.pass(50).then(() => this.#turnOfReality())
    }
  }

  /** Encryption does its work outside of the event loop. */
  #turnOfReality(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.waitMs))
  }
}

/** Lets everything happen that needs no time. */
export async function turns(): Promise<void> {
  for (let each = 0; each < 5; each++) await new Promise((resolve) => setImmediate(resolve))
}

/** A service as if in a process of its own. */
export interface TestProcess {
  readonly service: ReturnType<typeof createService>
  readonly call: Call
  readonly name: string
  /** What the service logged as errors. */
  readonly logged: string[]
  /** Nothing in it goes on: it is as if its process was killed. */
  kill(): void
  /** It hangs: nothing goes on until it is resumed. */
  hang(): () => void
  /** It hangs before its nth call of the storage from now on. */
  hangAt(call: number): { hasHung(): boolean; resume(): void }
}

/**
 * Several services over one storage, by default one in memory. Without hints, they learn from each other by looking alone.
 * `reach` opens what each process reaches the storage by, if that takes real time.
 */
export function newProcesses({
  hints,
  storage = memoryStorage(),
  reach,
}: {
  readonly hints: boolean
  readonly storage?: Storage
  readonly reach?: () => Promise<Storage>
}) {
  const time = new TestTime(reach ? 10 : 0)
  const watchers = new Map<object, (names: readonly string[]) => void>()

  async function start(options: Partial<ServiceOptions> = {}): Promise<TestProcess> {
    const reached = (await reach?.()) ?? storage
    const logged: string[] = []
    const life = { goesOn: Promise.resolve(), isAlive: true, callsLeft: Number.POSITIVE_INFINITY, resume: () => {} }
    const hang = () => {
      life.goesOn = new Promise((resolve) => (life.resume = resolve))
    }
    const alive = async <T>(job: () => Promise<T>): Promise<T> => {
      if (--life.callsLeft === 0) hang()
      await life.goesOn
      const value = await job()
      await life.goesOn
      return value
    }
    const tell = (names: readonly string[]) => {
      for (const [whose, watcher] of watchers) if (whose !== life) queueMicrotask(() => watcher(names))
    }
    const view: Storage = {
      name: 'memory',
      exclusive: false,
      isShared: true,
      read: (body) => alive(() => reached.read(body)),
      write: (body) =>
        alive(async () => {
          let own: Transaction | undefined
          const value = await reached.write((tx) => body((own = Transaction.over(tx))))
          const written = [...(own?.changes() ?? [])]
          if (written.length > 0) tell(written.map(({ collection: { name } }) => name))
          return value
        }),
      export: () => alive(() => reached.export()),
      import: (state, given) => alive(() => reached.import(state, given)),
      close: async () => {
        if (reached !== storage) await reached.close()
      },
      ...(hints && {
        watchOthers: async (watcher: (names: readonly string[] | undefined) => void) => {
          watchers.set(life, (names) => life.isAlive && watcher(names))
        },
      }),
    }
    const service = createService({
      sandbox: true,
      storage: view,
      clock: time.clock,
      alarm: time.alarmFor(() => life.isAlive),
      log: { error: (message) => void logged.push(message) },
      limits: { closeMs: 1000 },
      ...options,
    })
    const call = caller({ url: service.baseUrl, fetch: service.fetch })
    const process: TestProcess = {
      service,
      call: (method, path, sent) => time.during(call(method, path, sent)),
      get name() {
        return service.sandbox.health().processes?.[0] ?? ''
      },
      logged,
      kill() {
        life.isAlive = false
        life.goesOn = new Promise(() => {})
      },
      hang() {
        hang()
        return life.resume
      },
      hangAt(call) {
        life.callsLeft = call
        return { hasHung: () => life.callsLeft <= 0, resume: () => life.resume() }
      },
    }
    onTestFinished(async () => {
      life.resume()
      life.callsLeft = Number.POSITIVE_INFINITY
      if (life.isAlive) await time.during(service.close())
    })
    await time.during(service.ready())
    return process
  }

  /** The names in the rows of processes. */
  const rowsOf = async () =>
    ((await storage.export()).rows.processes ?? [])
      .map(({ id }) => String(id))
      .filter((id) => id.startsWith('process:'))
      .map((id) => id.slice('process:'.length))

  return { time, storage, start, rowsOf }
}
