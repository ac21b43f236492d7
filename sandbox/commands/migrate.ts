import { SCHEMA } from '../../src/migrations/schema.js'
import { planMigration } from '../state.js'
import { printLines } from '../terminal.js'

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
