import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { assertState } from '../../../src/storage/state.js'
import { type Row, separatelyStored } from '../../../src/storage/storage.js'
import { hasCode, isObject, messageOf } from '../../../src/storage/unknown.js'
import { PRIVATE } from './disk.js'
import { StorageDamaged } from './errors.js'

type Rows = Readonly<Record<string, readonly Row[]>>

/** The rows kept apart, as they are from one commit on. */
interface Generation {
  readonly commit: number
  readonly rows: Rows
}

const FORMAT = 'farthing-key/1'

/**
 * The file beside a data file that holds the rows to be kept apart from it, such as the key that seals the others.
 * It is written before the commit that it belongs to, with what was before: whichever the state has reached is read.
 */
export class KeyFile {
  readonly #file: string
  #generations: readonly Generation[]

  private constructor(file: string, generations: readonly Generation[]) {
    this.#file = file
    this.#generations = generations
  }

  /** Throws `StorageDamaged` on a file that is there and is no key file. */
  static async open(file: string): Promise<KeyFile> {
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      if (hasCode(cause, 'ENOENT')) return undefined
      throw new StorageDamaged(file, undefined, `the file cannot be read (${messageOf(cause)}). ${REMEDY}`, { cause })
    })
    if (text === undefined) return new KeyFile(file, [])
    try {
      return new KeyFile(file, generationsOf(JSON.parse(text)))
    } catch (cause) {
      throw new StorageDamaged(file, undefined, `this is not a key file (${messageOf(cause)}). ${REMEDY}`, {
        cause,
      })
    }
  }

  /** What the state of this commit keeps apart. What was written for a later commit, which never came, is forgotten. */
  settle(commit: number): Rows {
    const reached = this.#generations.filter((generation) => generation.commit <= commit)
    this.#generations = reached.slice(-1)
    return this.rows
  }

  get rows(): Rows {
    return this.#generations.at(-1)?.rows ?? {}
  }

  /** Writes what a commit keeps apart, before that commit is written. At once: the commits after it must not overtake it. */
  write(generation: Generation): void {
    if (JSON.stringify(generation.rows) === JSON.stringify(this.rows)) return
    const generations = [...this.#generations.slice(-1), generation]
    const next = `${this.#file}.next`
    const handle = openSync(next, 'w', PRIVATE)
    try {
      writeSync(handle, `${JSON.stringify({ format: FORMAT, generations }, null, 2)}\n`)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(next, this.#file)
    this.#generations = generations
  }
}

function generationsOf(document: unknown): Generation[] {
  if (!isObject(document) || document.format !== FORMAT || !Array.isArray(document.generations))
    throw new TypeError('its format is not known')
  return document.generations.map(generationOf)
}

function generationOf(given: unknown): Generation {
  const { commit, rows } = isObject(given) ? given : {}
  if (typeof commit !== 'number') throw new TypeError('its rows are of no commit')
  const state: unknown = { counters: {}, rows }
  assertState(state)
  return { commit, rows: state.rows }
}

const REMEDY = 'Nothing was changed. Restore the file from a backup'

/** A state's rows in two parts: those that lie beside each other, and those that are kept apart. */
export function divideRows(rows: Rows): { readonly together: Rows; readonly apart: Rows } {
  const entries = Object.entries(rows)
  return {
    together: Object.fromEntries(entries.filter(([name]) => !separatelyStored.has(name))),
    apart: Object.fromEntries(entries.filter(([name]) => separatelyStored.has(name))),
  }
}
