import { type FileHandle, readdir, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { hasCode, messageOf } from '../../../src/storage/unknown.js'
import { isCommit, type JournaledCommit } from './commit.js'
import { syncContent, syncDirectory, withFile, writeAgain, writeBytes } from './disk.js'
import { type OnDamage, refuseDamage, StorageDamaged } from './errors.js'
import { isTorn, objectLine, parseLine, type ReadLine, readLines } from './line.js'
import { Unpacking } from './packing.js'

/** The parts of a journal: `<file>.journal.000000013.9f3a2c1b` names itself in its first line, and holds commits from 13 on. */

export const partFile = (file: string, { journal, id }: JournalPart): string =>
  `${file}.journal.${String(journal).padStart(9, '0')}.${id}`

export async function partsBeside(file: string): Promise<JournalPart[]> {
  const start = `${basename(file)}.journal.`
  const found: JournalPart[] = []
  for (const name of await readdir(dirname(file))) {
    const [, digits, id] = (name.startsWith(start) && /^(\d{9,})\.([0-9a-f]+)$/.exec(name.slice(start.length))) || []
    if (id !== undefined) found.push({ journal: Number(digits), id })
  }
  return found.sort((a, b) => a.journal - b.journal)
}

/** Removes the parts beside a data file that are not among these. One that stays does no harm, so this never rejects. */
export async function removeParts(file: string, keep: readonly JournalPart[]): Promise<void> {
  for (const part of await partsBeside(file).catch(() => []))
    if (!keep.some(({ id }) => id === part.id)) await rm(partFile(file, part), { force: true }).catch(() => {})
}

export interface PartReading {
  readonly part: JournalPart
  readonly store: string
  /** The last commit that it holds. Lines after it belong to writes that failed. Undefined for the newest part. */
  readonly until: number | undefined
  readonly onDamage?: OnDamage | undefined
  commit(commit: JournaledCommit): void
}

/**
 * Reads the commits of a part in order. Returns where the last one ends, in bytes. In the newest part, an incomplete
 * last line is ignored: its write was never confirmed. Throws `StorageDamaged`, unless `onDamage` takes it.
 */
export async function readPart(path: string, reading: PartReading): Promise<number> {
  const { until, onDamage = refuseDamage } = reading
  const report = (line: number | undefined, fault: string) => onDamage(new StorageDamaged(path, line, fault))
  let end = 0
  let last = reading.part.journal - 1
  const packing = new Unpacking()
  try {
    for await (const lines of readLines(path))
      for (const line of lines) {
        if (until !== undefined && last >= until) return end
        const { commit, fault, isTorn: isEnd } = contentOf(line, { ...reading, packing }, last)
        if (isEnd) return end
        if (fault !== undefined) report(line.number, fault)
        // A damaged line held the next commit.
        if (line.number > 1) last = commit?.commit ?? last + 1
        if (commit) reading.commit(commit)
        end = line.end
      }
  } catch (cause) {
    if (cause instanceof StorageDamaged) throw cause
    if (hasCode(cause, 'ENOENT')) report(undefined, 'this part of the journal is missing, and with it confirmed writes')
    else report(undefined, `the file cannot be read (${messageOf(cause)})`)
    return end
  }
  if (end === 0) report(1, 'this part of the journal is empty')
  if (until !== undefined && last < until)
    report(undefined, `the commits from ${last + 1} to ${until} are missing at its end`)
  return end
}

/** `isTorn`: it is what a crash left of the last write. The first line holds no commit. */
function contentOf(
  line: ReadLine,
  { part, store, until, packing }: PartReading & { readonly packing: Unpacking },
  last: number,
): { readonly commit?: JournaledCommit; readonly fault?: string; readonly isTorn?: true } {
  // Its line break is part of the write: the next line would follow without one.
  const read = line.isWhole ? parseLine(line.bytes) : undefined
  if (!read && until === undefined && line.number > 1 && isTorn(line)) return { isTorn: true }
  const object = read && 'object' in read ? read.object : undefined
  if (!object) return { fault: 'the line is damaged' }
  if (line.number === 1) {
    // The head of a damaged data file may name no storage.
    const isOfStore = object.store === store || store === ''
    if (object.journal === part.journal && object.id === part.id && isOfStore) return {}
    return { fault: 'this journal does not continue the data file beside it' }
  }
  if (!isCommit(object)) return { fault: 'it is not a commit' }
  let commit: JournaledCommit
  try {
    commit = packing.commitOf(object)
  } catch (cause) {
    return { fault: messageOf(cause) }
  }
  if (commit.commit === last + 1) return { commit }
  const fault = `commit ${last + 1} is missing before this one, ${commit.commit}`
  return commit.commit > last ? { commit, fault } : { fault }
}

/** Whether a part holds a commit. A crash may leave one with less. */
export async function holdsCommit(path: string): Promise<boolean> {
  for await (const lines of readLines(path))
    for (const { number, bytes, isWhole } of lines) if (number > 1 && isWhole && parseLine(bytes)) return true
  return false
}

export interface JournalPart {
  readonly journal: number
  /** Distinguishes it from a part of the same number that a different history wrote. */
  readonly id: string
}

/** Where the lines of a data file end that name the parts of its journal, in bytes. */
export interface PartNames {
  readonly from: number
  readonly to: number
}

/** Drops half a line at the end of a data file, and writes the names of the parts to the disk: an earlier sync may have failed. */
export async function settleDataFile(file: string, { from, to }: PartNames): Promise<void> {
  await withFile(file, 'r+', async (handle) => {
    if ((await handle.stat()).size > to) await handle.truncate(to)
    await writeAgain(handle, from, to)
  })
  await syncDirectory(dirname(file))
}

/** Appends the name of a part to a data file, and to the disk. A later try writes in the place of one that failed. */
export async function appendJournalPart(file: string, part: JournalPart): Promise<void> {
  const line = Buffer.from(objectLine(part))
  await withFile(file, 'r+', async (handle) => writeAt(handle, line, await findOffset(handle, line)))
}

const LONGEST_NAME = 1024
const NEWLINE = 10

/** Where a line belongs: after the last whole line, or at its own place. Removes half a line that a failed write left. */
async function findOffset(handle: FileHandle, line: Buffer): Promise<number> {
  const { size } = await handle.stat()
  const start = Math.max(0, size - LONGEST_NAME)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(LONGEST_NAME), 0, LONGEST_NAME, start)
  const bytes = buffer.subarray(0, bytesRead)
  const whole = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
  if (whole.length === 0) return size
  const end = start + whole.length
  if (end < size) await handle.truncate(end)
  const isThere = whole.length >= line.length && whole.subarray(-line.length).equals(line)
  return isThere ? end - line.length : end
}

/** Writes bytes at a place of a file, and to the disk. */
export async function writeAt(handle: FileHandle, bytes: Buffer, start: number): Promise<void> {
  await writeBytes(handle, bytes, start)
  await syncContent(handle)
}
