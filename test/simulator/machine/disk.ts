import { isCommit, journaled, LongFields, replay, SharedStrings } from '../../../adapters/storage/file/commit.js'
import { isTorn, parseLine } from '../../../adapters/storage/file/line.js'
import { Packing, Unpacking } from '../../../adapters/storage/file/packing.js'
import { schemaHistory } from '../../../src/core.js'
import { OutcomeUnknown, type Storage, StorageUnavailable } from '../../../src/storage/storage.js'
import { type Commit, type CommitLog, serialStorage } from '../../../src/storage/tables/serial.js'
import type { Tables } from '../../../src/storage/tables/tables.js'
import type { Sightings } from '../properties/sightings.js'
import type { Draws } from './draws.js'
import type { Timeline } from './timeline.js'
import type { Reach } from './traps.js'

/** How the next sync of a disk goes. `refused`: nothing is kept. `unclear`: it fails, and the bytes may be there. */
export type SyncFault = 'refused' | 'unclear' | 'pretended'

/** Long fields would need files of their own, and no answer of a simulation is that long. */
const long = new LongFields('/nowhere')

export interface Opening {
  isAlive(): boolean
  reach: Reach
}

/** What a machine keeps: a state, and a journal in the format of the file storage behind it. */
export class SimulatedDisk {
  readonly #base: Tables
  /** The journal as a running process reads it. */
  #written = Buffer.alloc(0)
  /** How much of it a machine keeps that loses its power. */
  #kept = 0
  /** How much of it the disk has claimed to keep. */
  #claimed = 0
  #commit = 0
  readonly syncFaults: SyncFault[] = []

  constructor(
    base: Tables,
    readonly timeline: Timeline,
    readonly draws: Draws,
    readonly sightings: Sightings,
  ) {
    this.#base = base
  }

  /** Opens the storage of one process, which can write while it lives. */
  open({ isAlive, reach }: Opening): Storage {
    const tables = this.#recover()
    return serialStorage({ name: 'simulated', tables, log: this.#log({ isAlive, reach }), history: schemaHistory })
  }

  /**
   * The machine loses its power. What was not synced is lost, and the end of the rest may be torn. Returns how many
   * bytes are lost that the disk had claimed to keep.
   */
  losePower(): number {
    const unsynced = this.#written.subarray(this.#kept)
    // Some of it may have reached the disk, up to any byte.
    const torn = this.draws.oneIn(3) ? 0 : this.draws.below(unsynced.length + 1)
    const missing = Math.max(0, this.#claimed - this.#kept - torn)
    this.#written = Buffer.concat([this.#written.subarray(0, this.#kept + torn)])
    this.#kept = this.#written.length
    this.#claimed = this.#kept
    this.syncFaults.length = 0
    return missing
  }

  #recover(): Tables {
    const tables = this.#base.fork()
    const strings = new SharedStrings()
    const packing = new Unpacking()
    let start = 0
    this.#commit = 0
    while (start < this.#written.length) {
      const end = this.#written.indexOf(NEWLINE, start)
      const bytes = this.#written.subarray(start, end < 0 ? this.#written.length : end)
      const line = end < 0 ? undefined : parseLine(bytes)
      if (!line || !('object' in line) || !isCommit(line.object)) {
        const found = { bytes, number: 1, end: end < 0 ? this.#written.length : end + 1, isWhole: end >= 0 }
        if (!isTorn(found)) throw new Error('The journal of the simulated disk is damaged.')
        this.sightings.see('a torn write is dropped at the next start')
        break
      }
      replay(packing.commitOf(line.object), tables, { strings, long })
      this.#commit = line.object.commit
      start = end + 1
    }
    this.#written = Buffer.concat([this.#written.subarray(0, start)])
    this.#kept = start
    this.#claimed = start
    return tables
  }

  /** Removes what was not confirmed. */
  #takeBack(): void {
    this.#written = Buffer.concat([this.#written.subarray(0, this.#claimed)])
  }

  /** Appends each commit to the journal, and syncs those of a moment together. */
  #log({ isAlive, reach }: Opening): CommitLog {
    let gathering: Promise<void> | undefined
    /** Of the commits that are gathered. */
    let packing = new Packing()
    let fault: StorageUnavailable | undefined
    /** Counts failures. What was gathered before one fails with it. */
    let failures = 0
    let last: Promise<unknown> = Promise.resolve()
    /** One sync after the other, so that commits become durable in their order. */
    const syncInTurn = () => {
      const begun = failures
      const own = last.then(() => {
        if (begun !== failures) throw new StorageUnavailable('An earlier write failed.')
        return sync()
      })
      last = own.catch(() => {})
      return own
    }
    const sync = async () => {
      await this.timeline.wait(this.draws.between(1, 8))
      gathering = undefined
      const end = this.#written.length
      await this.timeline.wait(this.draws.between(1, 12))
      if (!isAlive()) return new Promise<never>(() => {})
      const how = this.syncFaults.shift()
      if (how === 'refused' || how === 'unclear') {
        failures++
        gathering = undefined
        this.sightings.see(
          how === 'refused' ? 'a disk refuses a write' : 'a sync fails, and it is unknown what is kept',
        )
        const Refusal = how === 'refused' ? StorageUnavailable : OutcomeUnknown
        fault = new Refusal('The simulated disk failed.', { reason: 'the disk is not well' })
        if (how === 'refused') this.#takeBack()
        throw fault
      }
      this.#claimed = Math.max(this.#claimed, end)
      if (how === 'pretended') this.sightings.see('a disk pretends to sync')
      else this.#kept = Math.max(this.#kept, end)
      if (reach('a commit has landed')) return new Promise<never>(() => {})
    }
    return {
      get fault() {
        return fault
      },
      prepare: (changes) => {
        if (fault) throw fault
        return changes
      },
      append: (commit: Commit) => {
        if (fault) throw fault
        if (!isAlive() || reach('before a commit')) return new Promise<never>(() => {})
        if (!gathering) packing = new Packing()
        const line = packing.lineOf(journaled(++this.#commit, commit, long))
        this.#written = Buffer.concat([this.#written, Buffer.from(line)])
        gathering ??= syncInTurn()
        return gathering
      },
      replaced: () => Promise.reject(new StorageUnavailable('The simulated disk keeps its state.')),
      recover: async () => {
        await this.timeline.wait(this.draws.between(1, 5))
        if (!isAlive() || !fault) return
        this.#takeBack()
        fault = undefined
      },
      close: async () => {},
    }
  }
}

const NEWLINE = 10
