import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { assertState } from '../../../src/storage/state.js'
import { type Row, separatelyStored } from '../../../src/storage/storage.js'
import { hasCode, isObject, messageOf } from '../../../src/storage/unknown.js'
import { PRIVATE } from './disk.js'
import { StorageDamaged } from './errors.js'

type Rows = Readonly<Record<string, readonly Row[]>>

/** The separately stored rows, as they are from one commit on. */
interface Generation {
  readonly commit: number
  readonly rows: Rows
}

const FORMAT = 'farthing-key/1'

/**
 * The file beside a data file for rows that must not be in it, such as the key that encrypts other rows.
 * Each version is written before its commit, together with the version before it. Opening reads the one that fits the state.
 */
export class KeyFile {
  readonly #file: string
  #generations: readonly Generation[]

  private constructor(file: string, generations: readonly Generation[]) {
    this.#file = file
    this.#generations = generations
  }

  /** Opens a key file, which may not exist yet. Throws `StorageDamaged` if the file is not a key file. */
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

  /** Returns the rows as of a commit. Discards a version for a later commit, which never happened. */
  settle(commit: number): Rows {
    const reached = this.#generations.filter((generation) => generation.commit <= commit)
    this.#generations = reached.slice(-1)
    return this.rows
  }

  get rows(): Rows {
    return this.#generations.at(-1)?.rows ?? {}
  }

  /** Writes the rows of a commit, before that commit is written. It is synchronous, so that later commits cannot overtake it. */
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
    throw new TypeError('its format is unknown')
  return document.generations.map(generationOf)
}

function generationOf(given: unknown): Generation {
  const { commit, rows } = isObject(given) ? given : {}
  if (typeof commit !== 'number') throw new TypeError('its rows name no commit')
  const state: unknown = { counters: {}, rows }
  assertState(state)
  return { commit, rows: state.rows }
}

const REMEDY = 'Nothing was changed. Restore the file from a backup'

/** Divides a state's rows into those of the data file (`together`) and those of the key file (`apart`). */
export function divideRows(rows: Rows): { readonly together: Rows; readonly apart: Rows } {
  const entries = Object.entries(rows)
  return {
    together: Object.fromEntries(entries.filter(([name]) => !separatelyStored.has(name))),
    apart: Object.fromEntries(entries.filter(([name]) => separatelyStored.has(name))),
  }
}
