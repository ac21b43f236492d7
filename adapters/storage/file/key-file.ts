import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { assertState } from '../../../src/storage/state.js'
import { type Row, separatelyStored } from '../../../src/storage/storage.js'
import { hasCode, isObject, messageOf } from '../../../src/storage/unknown.js'
import { syncDirectoryNow, writeFileNow } from './disk.js'
import { StorageDamaged } from './errors.js'
import { checksumOf } from './line.js'

type Rows = Readonly<Record<string, readonly Row[]>>

interface Generation {
  readonly commit: number
  readonly rows: Rows
}

const FORMAT = 'farthing-key/2'
const FIRST_FORMAT = 'farthing-key/1'

/**
 * The file beside a data file for rows that must not be in it, such as the key that encrypts other rows.
 * Each version is written before its commit, together with the version before it. Opening reads the one that fits the state.
 */
export class KeyFile {
  private constructor(
    readonly file: string,
    private generations: readonly Generation[],
  ) {}

  /** Opens a key file, which may not exist yet. Throws `StorageDamaged` if the file is not a key file. */
  static async open(file: string): Promise<KeyFile> {
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      if (hasCode(cause, 'ENOENT')) return undefined
      throw new StorageDamaged(file, undefined, `the file cannot be read (${messageOf(cause)})`, { cause })
    })
    if (text === undefined) return new KeyFile(file, [])
    try {
      return new KeyFile(file, generationsOf(JSON.parse(text)))
    } catch (cause) {
      throw new StorageDamaged(file, undefined, `this is not a key file (${messageOf(cause)})`, { cause })
    }
  }

  /** Returns the rows as of a commit. Discards a version for a later commit, which never happened. */
  settle(commit: number): Rows {
    const reached = this.generations.filter((generation) => generation.commit <= commit)
    this.generations = reached.slice(-1)
    return this.rows
  }

  get rows(): Rows {
    return this.generations.at(-1)?.rows ?? {}
  }

  /** Writes the rows of a commit, before it and in its order. A crash may return to `durable`, the last commit on the disk. */
  write(generation: Generation, durable: number): void {
    if (JSON.stringify(generation.rows) === JSON.stringify(this.rows)) return
    const kept = this.generations.findLastIndex(({ commit }) => commit <= durable)
    this.#replace([...this.generations.slice(Math.max(0, kept)), generation])
  }

  /** Removes the rows of commits after this one, which failed: a different commit will get the number. */
  forget(commit: number): void {
    const kept = this.generations.filter((generation) => generation.commit <= commit)
    if (kept.length < this.generations.length) this.#replace(kept)
  }

  #replace(generations: readonly Generation[]): void {
    const checksum = checksumOf(JSON.stringify(generations))
    writeFileNow(this.file, `${JSON.stringify({ format: FORMAT, checksum, generations }, null, 2)}\n`)
    // A crash before the sync may bring back the file before, which lacks rows that the next commit needs.
    this.generations = generations
    syncDirectoryNow(dirname(this.file))
  }
}

function generationsOf(document: unknown): Generation[] {
  if (!isObject(document) || !Array.isArray(document.generations)) throw new TypeError('its format is unknown')
  const { format, checksum, generations } = document
  if (format !== FORMAT && format !== FIRST_FORMAT) throw new TypeError('its format is unknown')
  if (format === FORMAT && checksum !== checksumOf(JSON.stringify(generations)))
    throw new TypeError('its checksum is wrong')
  return document.generations.map(generationOf)
}

function generationOf(given: unknown): Generation {
  const { commit, rows } = isObject(given) ? given : {}
  if (typeof commit !== 'number') throw new TypeError('its rows name no commit')
  const state: unknown = { counters: {}, rows }
  assertState(state)
  return { commit, rows: state.rows }
}

/** Divides a state's rows into those of the data file (`together`) and those of the key file (`apart`). */
export function divideRows(rows: Rows): { readonly together: Rows; readonly apart: Rows } {
  const pick = (isApart: boolean) =>
    Object.fromEntries(Object.entries(rows).filter(([name]) => separatelyStored.has(name) === isApart))
  return { together: pick(false), apart: pick(true) }
}
