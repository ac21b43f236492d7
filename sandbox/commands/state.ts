import { stat } from 'node:fs/promises'
import { exists } from '../../adapters/storage/file/disk.js'
import { SCHEMA } from '../../src/migrations/schema.js'
import type { State } from '../../src/storage/storage.js'
import type { Settings } from '../config.js'
import { Progress, shownBytes, shownRows } from '../progress.js'
import { Refusal, refuseFile } from '../refusal.js'
import { openStorage, planMigration, readState, writeState } from '../state.js'
import { printLine, printLines } from '../terminal.js'

interface Moved extends Partial<Pick<Settings, 'data' | 'database'>> {
  /** The exported state. */
  readonly file: string
  readonly json: boolean
}

/** Writes the whole state of a data file or a database to another file. Throws `Refusal`. */
export async function exportState({ file, data, database, json }: Moved): Promise<void> {
  if (data !== undefined && !(await exists(data))) throw new Refusal(`no data file at ${data}: name it with --data`)
  const storage = await openStorage({ data, database })
  const progress = new Progress({ json })
  try {
    const state = await writeState(file, storage, (bytes) => progress.show('Writing', { count: shownBytes(bytes) }))
    if (json) printCounts({ file, data }, state)
  } finally {
    progress.end()
    await storage.close()
  }
}

/** Replaces everything in a data file or a database with the state in `file`. Throws `Refusal`. */
export async function importState({ file, data, database, json }: Moved): Promise<void> {
  const { size } = await stat(file).catch((error: unknown) => refuseFile('read', file, error))
  const progress = new Progress({ json })
  try {
    const state = await readState(file, (bytes) =>
      progress.show('Reading', { share: bytes / size, count: shownBytes(bytes) }),
    )
    progress.show('Storing', { count: shownRows(countRows(state)) })
    const storage = await openStorage({ data, database }, { replaceBy: state })
    await storage.close()
    if (json) printCounts({ file, data }, state)
  } finally {
    progress.end()
  }
}

const countRows = ({ rows }: State): number => Object.values(rows).reduce((sum, list) => sum + list.length, 0)

function printCounts(names: { file: string; data: string | undefined }, state: State): void {
  const counts = { rows: countRows(state), collections: Object.keys(state.rows).length }
  printLine(JSON.stringify({ ...names, ...counts }))
}

/** Prints which migrations a data file or an exported state needs. Changes nothing. Throws `Refusal` if it would not open. */
export async function checkMigration(file: string): Promise<void> {
  const { schema, migrations } = await planMigration(file)
  const lines = [`${file} has schema ${schema}. This farthing writes schema ${SCHEMA}.`]
  if (migrations.length > 0) {
    lines.push(`To open it as a data file saves a copy first, ${file}.v${schema}. These migrations run:`)
    lines.push(...migrations.map(({ to, what }) => `- schema ${to}: ${what}`))
  }
  lines.push('It would open: its rows are consistent, and its ledger is correct.')
  printLines(lines)
}
