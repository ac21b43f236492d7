import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncContent, syncDirectory, writeAgain, writeBytes } from './disk.js'
import { objectLine } from './line.js'

/** A part of the journal that continues a data file. */
export interface JournalPart {
  /** The number of its first commit. */
  readonly journal: number
  /** Distinguishes it from a part of the same number that a different history wrote. */
  readonly id: string
}

/** Where the lines of a data file end that name the parts of its journal, in bytes. */
export interface PartNames {
  readonly from: number
  readonly to: number
}

/**
 * Drops what a crash left of a line at the end of a data file, and makes sure that the names of the parts are on the
 * disk: a process may have died before they were, or a sync may have failed.
 */
export async function settleDataFile(file: string, { from, to }: PartNames): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    if ((await handle.stat()).size > to) await handle.truncate(to)
    await writeAgain(handle, from, to)
  } finally {
    await handle.close()
  }
  await syncDirectory(dirname(file))
}

/**
 * Appends the name of a part of the journal to a data file. It is on the disk when this resolves. If an earlier try
 * failed, this one writes in the same place.
 */
export async function appendJournalPart(file: string, part: JournalPart): Promise<void> {
  const line = Buffer.from(objectLine(part))
  const handle = await open(file, 'r+')
  try {
    await writeAt(handle, line, await findOffset(handle, line))
  } finally {
    await handle.close()
  }
}

const LONGEST_NAME = 1024

/**
 * Where a line belongs: after the last whole line, or at its own place. A write that failed may have left half a line
 * there, which is removed.
 */
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

const NEWLINE = 10

/** Writes bytes at a place of a file, and to the disk. */
export async function writeAt(handle: FileHandle, bytes: Buffer, start: number): Promise<void> {
  await writeBytes(handle, bytes, start)
  await syncContent(handle)
}
