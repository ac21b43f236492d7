import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import type { Adapter } from 'lowdb'
import { TextFile } from 'lowdb/node'
import { compareParts } from '../../../src/storage/key.js'
import { assertState } from '../../../src/storage/state.js'
import type { Row, State } from '../../../src/storage/storage.js'
import { messageOf } from '../../../src/storage/unknown.js'
import { PRIVATE, replaceFile, syncDirectory } from './disk.js'
import { StorageDamaged } from './errors.js'

/** The content of the data file: a state, and the last commit in it. */
export interface Snapshot extends State {
  readonly format: typeof FORMAT
  /** The id of this storage. Its journal has the same one. Empty for an exported state. */
  readonly store: string
  /** The number of the last commit in it. */
  readonly commit: number
}

const FORMAT = 'farthing/1'

export const BLANK: Snapshot = { format: FORMAT, store: '', commit: 0, counters: {}, rows: {} }

/** Like lowdb's `JSONFile`, but a write is on the disk when it resolves, and does not block the process. */
export class DataFile implements Adapter<Snapshot> {
  readonly #file: string
  readonly #text: TextFile

  constructor(file: string) {
    this.#file = file
    this.#text = new TextFile(file)
  }

  /** Reads the file, or returns null if there is none. Accepts an exported state too. Throws `StorageDamaged` for anything else. */
  async read(): Promise<Snapshot | null> {
    const text = await this.#text.read().catch((cause: unknown) => {
      throw new StorageDamaged(this.#file, undefined, `the file cannot be read (${messageOf(cause)}). ${REMEDY}`, {
        cause,
      })
    })
    if (text === null) return null
    try {
      const document: unknown = JSON.parse(text)
      assertState(document)
      const snapshot = { ...BLANK, ...document }
      assertSnapshot(snapshot)
      return snapshot
    } catch (cause) {
      throw new StorageDamaged(this.#file, undefined, `this is not a state (${messageOf(cause)}). ${REMEDY}`, {
        cause,
      })
    }
  }

  /** Replaces the file in one step, with its rows sorted by id. */
  async write(snapshot: Snapshot): Promise<void> {
    const next = `${this.#file}.next`
    try {
      const handle = await open(next, 'w', PRIVATE)
      try {
        for await (const piece of textOf(snapshot)) await handle.writeFile(piece)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await replaceFile(next, this.#file)
    } catch (error) {
      await rm(next, { force: true }).catch(() => {})
      throw error
    }
    await syncDirectory(dirname(this.#file))
  }
}

const REMEDY = 'Nothing was changed. Restore the file from a backup, or move it and its journal away to start empty'

function assertSnapshot({ format, store, commit }: Snapshot): void {
  if (format !== FORMAT) throw new TypeError(`its format is ${JSON.stringify(format)}, which this version cannot read`)
  if (typeof store !== 'string') throw new TypeError('"store" is not a string')
  if (!Number.isSafeInteger(commit) || commit < 0) throw new TypeError('"commit" is not a whole number from 0 up')
}

/** Yields `JSON.stringify(snapshot, null, 2)` in pieces, so that other work can run between them. */
async function* textOf({ rows, ...head }: Snapshot): AsyncGenerator<string> {
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "rows": {`
  let comma = ''
  for (const [name, unsorted] of Object.entries(rows)) {
    const sorted = await sortById(unsorted)
    yield `${comma}\n    ${JSON.stringify(name)}: [`
    for (let at = 0; at < sorted.length; at += 64) {
      const piece = JSON.stringify([[sorted.slice(at, at + 64)]], null, 2)
      yield (at === 0 ? '' : ',') + piece.slice(OPENED, -CLOSED)
    }
    yield '\n    ]'
    comma = ','
  }
  yield comma === '' ? '}\n}\n' : '\n  }\n}\n'
}

// The text around the rows of each piece, which has the same depth as the document.
const OPENED = '[\n  [\n    ['.length
const CLOSED = '\n    ]\n  ]\n]'.length

/** Sorts short runs, then merges them in pairs. Other work can run in between. */
async function sortById(rows: readonly Row[]): Promise<readonly Row[]> {
  let runs: Row[][] = []
  for (let at = 0; at < rows.length; at += RUN) {
    runs.push(rows.slice(at, at + RUN).sort(byId))
    await turnOfTheLoop()
  }
  while (runs.length > 1) {
    const merged: Row[][] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? []))
    runs = merged
  }
  return runs[0] ?? []
}

async function merge(left: Row[], right: Row[]): Promise<Row[]> {
  const merged: Row[] = []
  let l = 0
  let r = 0
  for (;;) {
    const a = left[l]
    const b = right[r]
    if (!a || !b) break
    const before = byId(a, b) < 0
    merged.push(before ? a : b)
    before ? l++ : r++
    if (merged.length % RUN === 0) await turnOfTheLoop()
  }
  return merged.concat(left.slice(l), right.slice(r))
}

const RUN = 4096

function byId(a: Row, b: Row): number {
  return compareParts(a.id, b.id)
}
