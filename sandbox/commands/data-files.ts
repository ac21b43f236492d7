import { resolve } from 'node:path'
import {
  copyStored,
  type Salvaged,
  salvage,
  unreadableFields,
  writeStored,
} from '../../adapters/storage/file/backup.js'
import { exists, settlePath } from '../../adapters/storage/file/disk.js'
import { StorageDamaged } from '../../adapters/storage/file/errors.js'
import { partsBeside } from '../../adapters/storage/file/journal-part.js'
import { migrateStored, readStored } from '../../adapters/storage/file/stored.js'
import { collections } from '../../src/collections.js'
import { schemaHistory } from '../../src/migrations/schema.js'
import { stateFaults } from '../../src/sandbox/controls/snapshot.js'
import { type Inconsistency, inconsistencies } from '../../src/storage/consistency.js'
import { type State, StorageUnavailable } from '../../src/storage/storage.js'
import { pendingMigrations, SchemaNewer } from '../../src/storage/tables/migration.js'
import { messageOf } from '../../src/storage/unknown.js'
import { Refusal, refuseFile } from '../refusal.js'
import { printLine, printLines } from '../terminal.js'

/** How many faults of rows are shown. A state whose collection is lost may have as many as rows. */
const SHOWN = 100

/** Prints all that is wrong with a storage's files. Changes nothing. Exits with 2 if anything is. Throws `Refusal`. */
export async function verify(file: string): Promise<void> {
  const path = await storagePath(file)
  printFindings(await findingsIn(path))
}

interface Findings {
  readonly lines: readonly string[]
  readonly isSound: boolean
}

function printFindings({ lines, isSound }: Findings): void {
  printLines(lines)
  if (!isSound) process.exitCode = 2
}

async function storagePath(file: string): Promise<string> {
  const path = resolve(file)
  if ((await exists(path)) || (await exists(`${path}.previous`))) return path
  throw new Refusal(`no data file at ${file}`)
}

/** What is wrong with the files of a storage, as lines for people. Throws `Refusal` if a newer farthing wrote them. */
export async function findingsIn(path: string): Promise<Findings> {
  try {
    const stored = await readStored(path)
    await migrateStored(path, stored)
    const { tables, commit } = stored
    const { counters, rows } = tables.state()
    checkLongFields(path, rows)
    const faults = await shownFaults({ schema: schemaHistory.current, counters, rows })
    const lists = Object.values(rows)
    const count = lists.reduce((sum, list) => sum + list.length, 0)
    const summary = `${path}: ${count} rows in ${lists.length} collections, up to commit ${commit}`
    if (faults.length === 0)
      return { lines: [`${summary}. Every line is whole, and the ledger is correct.`], isSound: true }
    return { lines: [`${summary}. Every line is whole.`, ...faults], isSound: false }
  } catch (error) {
    if (error instanceof SchemaNewer) throw new Refusal(error.message, { cause: error })
    if (!(error instanceof StorageDamaged)) return refuseFile('read', path, error)
    return { lines: await damagesIn(path, error), isSound: false }
  }
}

function checkLongFields(path: string, rows: State['rows']): void {
  for (const row of Object.values(rows).flat())
    for (const [field, cause] of unreadableFields(row))
      throw new StorageDamaged(`${path}.long`, undefined, `${field} cannot be read (${messageOf(cause)})`)
}

async function damagesIn(path: string, first: StorageDamaged): Promise<string[]> {
  const { damages, losses } = await salvage(path).catch((error: unknown) => {
    if (error instanceof StorageDamaged) return { damages: [error], losses: [error] }
    throw error
  })
  const lines = (damages.length > 0 ? damages : [first]).map(damageLine)
  const advice =
    losses.length === 0
      ? `Nothing is lost. \`farthing repair ${path} TO\` writes everything into a new file.`
      : `Restore a backup, or write all that can be read into a new file with \`farthing repair ${path} TO\`.`
  return [...lines, advice]
}

export const damageLine = ({ file, line, reason }: StorageDamaged): string =>
  `${file}${line === undefined ? '' : `, line ${line}`}: ${reason}`

async function shownFaults(state: Parameters<typeof stateFaults>[0]): Promise<string[]> {
  const lines: string[] = []
  for await (const fault of stateFaults(state, collections)) {
    if (lines.length === SHOWN) return [...lines, 'There is more.']
    lines.push(faultLine(fault))
  }
  return lines
}

const faultLine = ({ collection, id, what }: Inconsistency): string =>
  id === null ? `In ${collection}, ${what}.` : `Row ${JSON.stringify(id)} of ${collection}: ${what}.`

/** Writes all that can be read to a new file, and prints what is lost. Exits with 2 if that is unsound. Throws `Refusal`. */
export async function repair(file: string, to: string): Promise<void> {
  const path = await storagePath(file)
  const target = await newFile(to)
  const findings = await repaired(path, target).catch((error: unknown) => {
    if (error instanceof SchemaNewer) throw new Refusal(error.message, { cause: error })
    if (error instanceof StorageDamaged) throw new Refusal(`${damageLine(error)}. Restore a backup`, { cause: error })
    return refuseFile('write', to, error)
  })
  printFindings(findings)
}

async function repaired(path: string, target: string) {
  const salvaged = await salvage(path)
  const { tables, schema, store, commit } = salvaged
  const pending = await pendingMigrations(schemaHistory, { schema, what: path })
  await migrateStored(path, { tables, pending })
  const { state, dropped } = usable({ schema: schemaHistory.current, ...tables.state() })
  const { counters, rows } = state
  await writeStored(target, { schema: schemaHistory.current, store, commit, counters, rows })
  const { lines, isSound } = await findingsIn(target)
  return { lines: [...readingLines(path, salvaged), ...dropped, ...lines], isSound }
}

function readingLines(path: string, { damages, losses, from, filled }: Salvaged): string[] {
  if (damages.length === 0) return ['No line is damaged.']
  const source = from === path ? [] : [`Read ${from} and the journal after it instead of ${path}.`]
  if (losses.length === 0) return [...damages.map(damageLine), ...source, 'Nothing is lost.']
  const filling = filled > 0 ? [`Read ${filled} of the missing rows from the other data file.`] : []
  return [...source, 'Could not read:', ...losses.map(damageLine), ...filling]
}

/** The state without rows that no storage takes, and with counters that repeat no id. Names the rows left out. */
function usable(given: State): { readonly state: State; readonly dropped: readonly string[] } {
  const names = new Set(collections.map(({ name }) => name))
  const rows = Object.fromEntries(Object.entries(given.rows).filter(([name]) => names.has(name)))
  const unknown = Object.keys(given.rows).filter((name) => !names.has(name))
  const dropped = unknown.map((name) => `Left out ${name}: this version has no such collection.`)
  const counters: Record<string, number> = { ...given.counters }
  for (const [name, list] of Object.entries(rows))
    for (const row of list) {
      const number = typeof row.id === 'number' ? row.id : 'number' in row ? row.number : undefined
      if (Number.isSafeInteger(number)) counters[name] = Math.max(counters[name] ?? 0, Number(number))
    }
  // Without counters and references, only keys are checked. Other rows are kept, even if they name one that is lost.
  for (const { collection, id, what } of inconsistencies(
    { counters: {}, rows },
    { collections: collections.map(({ refs: _, ...each }) => each), counted: [] },
  )) {
    rows[collection] = (rows[collection] ?? []).filter((row) => row.id !== id)
    dropped.push(`Left out row ${JSON.stringify(id)} of ${collection}: ${what}.`)
  }
  return { state: { ...given, counters, rows }, dropped }
}

/** Copies the state of a data file, which a sandbox may use, into a new file with its key file. Throws `Refusal`. */
export async function backup(file: string, to: string): Promise<void> {
  const path = resolve(file)
  if (!(await exists(path))) throw new Refusal(`no data file at ${file}`)
  const target = await newFile(to)
  try {
    const { commit, rows } = await copyStored(path, target)
    printLine(`Wrote ${rows} rows, up to commit ${commit}, to ${target}.`)
  } catch (error) {
    if (error instanceof StorageDamaged || error instanceof StorageUnavailable)
      throw new Refusal(error.message, { cause: error })
    refuseFile('write', to, error)
  }
}

/** The path of a file that does not exist, and whose journal and key do not. Throws `Refusal`. */
export async function newFile(to: string): Promise<string> {
  const target = await settlePath(to).catch((error: unknown) => refuseFile('write', to, error))
  const beside = [target, `${target}.key`, `${target}.lock`, `${target}.journal`, `${target}.previous`]
  for (const name of beside) if (await exists(name)) throw new Refusal(`${name} exists: name a file that does not`)
  if ((await partsBeside(target)).length > 0)
    throw new Refusal(`a journal is beside ${target}: name a file without one`)
  return target
}
