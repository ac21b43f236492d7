import { schemaHistory } from '../../../src/core.js'
import {
  OutcomeUnknown,
  type Row,
  type Storage,
  StorageClosed,
  StorageUnavailable,
} from '../../../src/storage/storage.js'
import { serialStorage } from '../../../src/storage/tables/serial.js'
import type { Tables } from '../../../src/storage/tables/tables.js'
import { Transaction } from '../../../src/storage/transaction.js'
import type { Sightings } from '../properties/sightings.js'
import type { Draws } from './draws.js'
import type { Timeline } from './timeline.js'
import type { Reach } from './traps.js'

/**
 * How a commit of one process goes. `aborted`: the database refuses it. `lost answer`: it lands, and nobody learns so.
 * `rerun`: its body runs twice, as after a conflict.
 */
export type CommitFault = 'aborted' | 'lost answer' | 'rerun'

export interface Connecting {
  isAlive(): boolean
  /** While the process hangs. */
  awake(): Promise<void> | undefined
  /** What happens to the next commits. */
  readonly faults: CommitFault[]
  reach: Reach
}

/** A database that several processes share. It keeps all that it commits. */
export class SimulatedDatabase {
  readonly #storage: Storage
  /** The services, and whether each still lives. */
  readonly #present = new Map<string, () => boolean>()
  /** Who works on a row, of those that someone works on. */
  readonly #holders = new Map<string, string>()
  /** Whether the services can tell which of them are alive. */
  readonly tellsPresence: boolean

  constructor(
    base: Tables,
    readonly timeline: Timeline,
    readonly draws: Draws,
    readonly sightings: Sightings,
  ) {
    this.#storage = serialStorage({ tables: base.fork(), history: schemaHistory })
    this.tellsPresence = draws.oneIn(2)
  }

  /** Opens a connection of one process, which works while it lives. */
  connect({ isAlive, awake, faults, reach }: Connecting): Storage {
    const { timeline, draws, sightings } = this
    const inner = this.#storage
    const never = () => new Promise<never>(() => {})
    const noteHolder = (collection: string, row: Row) => this.#noteHolder(collection, row)
    let isClosed = false
    let name: string | undefined
    const arrive = async () => {
      if (isClosed) throw new StorageClosed()
      await awake()
      await timeline.wait(draws.between(0, 3))
      if (!isAlive()) await never()
    }
    const leave = async <T>(value: T): Promise<T> => {
      await timeline.wait(draws.between(0, 3))
      await awake()
      return isAlive() ? value : never()
    }
    return {
      name: 'simulated',
      exclusive: false,
      isShared: true,
      ...(this.tellsPresence && {
        presence: {
          enter: async (entered: string) => {
            name = entered
            this.#present.set(entered, isAlive)
          },
          isAlive: async (asked: string) => this.#present.get(asked)?.() === true,
        },
      }),
      async read(body) {
        await arrive()
        return leave(await inner.read(body))
      },
      async write(body) {
        await arrive()
        const fault = faults.shift()
        if (fault === 'aborted') {
          sightings.see('a database aborts a commit')
          throw new StorageUnavailable('The simulated database aborted.', { reason: 'the database is busy' })
        }
        if (reach('before a commit')) await never()
        if (fault === 'rerun') {
          sightings.see('a body runs again after a conflict')
          await inner.write(async (tx) => Promise.reject(await body(tx))).catch(() => {})
        }
        let last: Transaction | undefined
        const value = await inner.write((tx) => {
          last = Transaction.over(tx)
          return body(last)
        })
        const hasWritten = (last?.writes ?? 0) > 0
        for (const { collection, is } of last?.rowChanges ?? []) if (is) noteHolder(collection.name, is)
        if (hasWritten && reach('a commit has landed')) await never()
        if (fault === 'lost answer' && hasWritten) {
          await leave(undefined)
          sightings.see('the answer to a COMMIT is lost')
          throw new OutcomeUnknown('The connection broke during the commit.', { reason: 'the connection broke' })
        }
        return leave(value)
      },
      export: () => inner.export(),
      import: (state, options) => inner.import(state, options),
      close: async () => {
        isClosed = true
        if (name !== undefined) this.#present.delete(name)
      },
    }
  }

  /** Sees when a service goes on with what another one had begun. */
  #noteHolder(collection: string, row: Row): void {
    const { id, holder, claim } = row as Row & { holder?: string; claim?: string | null }
    const taken = holder ?? claim ?? undefined
    const key = `${collection} ${id}`
    const before = this.#holders.get(key)
    if (taken === undefined) this.#holders.delete(key)
    else this.#holders.set(key, taken)
    if (before === undefined || taken === undefined || serviceOf(before) === serviceOf(taken)) return
    this.sightings.see(`a lease is taken over: ${collection}`)
  }
}

const serviceOf = (holder: string): string => holder.split(':', 1)[0] ?? ''
