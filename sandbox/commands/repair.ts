import { resolve } from 'node:path'
import { writeStored } from '../../adapters/storage/file/backup.js'
import { exists } from '../../adapters/storage/file/disk.js'
import { StorageDamaged } from '../../adapters/storage/file/errors.js'
import { type Salvaged, salvage } from '../../adapters/storage/file/salvage.js'
import { collections } from '../../src/collections.js'
import { schemaHistory } from '../../src/migrations/schema.js'
import { inconsistencies } from '../../src/storage/consistency.js'
import type { State } from '../../src/storage/storage.js'
import { migrateTables, pendingMigrations, SchemaNewer } from '../../src/storage/tables/migration.js'
import { messageOf } from '../../src/storage/unknown.js'
import { Refusal, refuseFile } from '../refusal.js'
import { printLines } from '../terminal.js'
import { newFile } from './backup.js'
import { damageLine, findingsIn } from './verify.js'

/**
 * Writes everything that can be read of the files of a storage into a new file, and prints what is lost. Never changes
 * the files. The exit code is 2 if the new file is not sound. Throws `Refusal`.
 */
export async function repair(file: string, to: string): Promise<void> {
  const path = resolve(file)
  if (!(await exists(path)) && !(await exists(`${path}.previous`))) throw new Refusal(`no data file at ${file}`)
  const target = await newFile(to)
  const { lines, isSound } = await repaired(path, target).catch((error: unknown) => {
    if (error instanceof SchemaNewer) throw new Refusal(error.message, { cause: error })
    if (error instanceof StorageDamaged) throw new Refusal(`${damageLine(error)}. Restore a backup`, { cause: error })
    return refuseFile('write', to, error)
  })
  printLines(lines)
  if (!isSound) process.exitCode = 2
}

async function repaired(path: string, target: string) {
  const salvaged = await salvage(path)
  const { tables, schema, store, commit } = salvaged
  const pending = await pendingMigrations(schemaHistory, { schema, what: path })
  await migrateTables(tables, pending).catch((cause: unknown) => {
    throw new StorageDamaged(path, undefined, `its rows cannot be migrated (${messageOf(cause)})`, { cause })
  })
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
