import { resolve } from 'node:path'
import { exists } from '../../adapters/storage/file/disk.js'
import { StorageDamaged } from '../../adapters/storage/file/errors.js'
import { salvage, unreadableFields } from '../../adapters/storage/file/salvage.js'
import { readStored } from '../../adapters/storage/file/stored.js'
import { collections } from '../../src/collections.js'
import { schemaHistory } from '../../src/migrations/schema.js'
import { stateFaults } from '../../src/sandbox/controls/snapshot.js'
import type { Inconsistency } from '../../src/storage/consistency.js'
import type { State } from '../../src/storage/storage.js'
import { migrateTables, SchemaNewer } from '../../src/storage/tables/migration.js'
import { messageOf } from '../../src/storage/unknown.js'
import { Refusal, refuseFile } from '../refusal.js'
import { printLines } from '../terminal.js'

/** How many faults of rows are shown. A state whose collection is lost may have as many as rows. */
const SHOWN = 100

/**
 * Reads all files of a storage and prints everything that is wrong with them. Changes nothing. The exit code is 2 if
 * anything is wrong. Throws `Refusal`.
 */
export async function verify(file: string): Promise<void> {
  const path = resolve(file)
  if (!(await exists(path)) && !(await exists(`${path}.previous`))) throw new Refusal(`no data file at ${file}`)
  const { lines, isSound } = await findingsIn(path)
  printLines(lines)
  if (!isSound) process.exitCode = 2
}

interface Findings {
  readonly lines: readonly string[]
  readonly isSound: boolean
}

/** What is wrong with the files of a storage, as lines for people. Throws `Refusal` if a newer farthing wrote them. */
export async function findingsIn(path: string): Promise<Findings> {
  try {
    const { tables, pending, commit } = await readStored(path)
    await migrateTables(tables, pending).catch((cause: unknown) => {
      throw new StorageDamaged(path, undefined, `its rows cannot be migrated (${messageOf(cause)})`, { cause })
    })
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

/** Throws `StorageDamaged` if a field that has a file of its own cannot be read. */
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

/** What is wrong with the rows of a state, as lines for people. */
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
