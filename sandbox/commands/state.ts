import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { exists } from '../../adapters/storage/file/disk.js'
import { createService, Problem } from '../../src/index.js'
import { SCHEMA } from '../../src/migrations/schema.js'
import type { ImportedBinder, ImportProgress } from '../../src/payments/binder-imports/import.js'
import type { State } from '../../src/storage/storage.js'
import type { Settings } from '../config.js'
import { Refusal, refuseFile } from '../refusal.js'
import { openData, openStorage, planMigration, readState, writeState } from '../state.js'
import { Progress, printLine, printLines, printToStderr, shownBytes, shownRows } from '../terminal.js'

interface Moved extends Partial<Pick<Settings, 'data' | 'database'>> {
  readonly file: string
  readonly json: boolean
}

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

export async function importBinderFile({
  file,
  twin,
  data,
  json,
}: { [Name in 'file' | 'twin' | 'data']: string } & { json: boolean }): Promise<void> {
  const found = await stat(file).catch((error: unknown) => refuseFile('read', file, error))
  if (!(await exists(data)))
    throw new Refusal(`no data file at ${data}: start a sandbox first, or name the file with --data`)
  const service = createService({ storage: await openData(data, { warn: printToStderr }), sandbox: true })
  const progress = new Progress({ json })
  const bytes = { read: 0, all: found.isFile() ? found.size : undefined }
  let rows = 0
  const onProgress = (done: ImportProgress) => {
    if (done.step === 'check') rows = done.rows
    const share = done.step === 'post' ? done.rows / rows : bytes.all && bytes.read / bytes.all
    progress.show(done.step === 'check' ? 'Checking' : 'Importing', { share, count: shownRows(done.rows) })
  }
  try {
    const csv = counted(createReadStream(file), (length) => (bytes.read += length))
    const imported = await service.sandbox.importBinder({ hostname: twin, csv, onProgress })
    progress.end()
    printLines(json ? [JSON.stringify(imported)] : importReport(imported))
  } catch (error) {
    progress.end()
    if (error instanceof Problem) throw new Refusal(`cannot import ${file}: ${error.message}`, { cause: error })
    refuseFile('read', file, error)
  } finally {
    await service.close()
  }
}

async function* counted(chunks: AsyncIterable<Uint8Array>, onRead: (bytes: number) => void) {
  for await (const chunk of chunks) {
    onRead(chunk.length)
    yield chunk
  }
}

function importReport({ hostname, rows, delegates, stand_ins, digital_quantities }: ImportedBinder): string[] {
  const quantities = digital_quantities.map(
    ({ dq, opening, balance, is_new }) =>
      `  ${dq}: balance ${balance}${opening > 0 ? `, after an opening balance of ${opening}` : ''}${is_new ? ' (a new digital quantity)' : ''}`,
  )
  const counts = [delegates > 0 && `${delegates} of them delegates`, stand_ins > 0 && `${stand_ins} new counterparts`]
  const more = counts.filter(Boolean).join(', ')
  return [`Imported ${shownRows(rows)} into ${hostname}${more && `: ${more}`}.`, ...quantities]
}
