import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { exists } from '../../adapters/storage/file/disk.js'
import { createService, Problem } from '../../src/index.js'
import type { ImportedBinder, ImportProgress } from '../../src/payments/binder-imports/import.js'
import { Progress, shownRows } from '../progress.js'
import { Refusal, refuseFile } from '../refusal.js'
import { openData } from '../state.js'
import { printLines, printToStderr } from '../terminal.js'

export interface BinderFile {
  /** The CSV of a binder. */
  readonly file: string
  /** The hostname of a twin without a history. */
  readonly twin: string
  readonly data: string
  readonly json: boolean
}

/** Imports the CSV of a binder into a twin of a data file, and prints what that created. Throws `Refusal`. */
export async function importBinderFile({ file, twin, data, json }: BinderFile): Promise<void> {
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

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
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
  const [more] = [counts.filter(Boolean).join(', ')]
  return [`Imported ${shownRows(rows)} into ${hostname}${more && `: ${more}`}.`, ...quantities]
}
