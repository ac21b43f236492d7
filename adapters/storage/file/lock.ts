import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, open, readFile, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { hasCode, isObject } from '../../../src/storage/unknown.js'
import { PRIVATE } from './disk.js'
import { StorageLocked } from './errors.js'

export interface Lock {
  release(): Promise<void>
}

interface Holder {
  readonly pid: number
  readonly host: string
  /** Distinguishes this process from a later one with the same pid, such as 1 in a container. Null if unknown. */
  readonly started: string | null
  readonly id: string
}

/** Takes a lock file for this process. Throws `StorageLocked` while a different holder is alive, or may be. */
export async function takeLock(file: string): Promise<Lock> {
  const { pid } = process
  const holder: Holder = { pid, host: hostname(), started: (await startOf(pid)) ?? null, id: randomUUID() }
  const own = `${file}.${holder.id}`
  try {
    await writeWhole(own, `${JSON.stringify(holder)}\n`)
    await seize(file, own)
  } finally {
    await rm(own, { force: true })
  }
  return {
    async release() {
      if ((await holderOf(file))?.id === holder.id) await rm(file, { force: true })
    },
  }
}

/**
 * Puts `own` in the place of the lock, and removes the lock of a dead holder first. Several processes may see that lock at
 * once. Only the one that holds the takeover lock may remove it, after it reads it again: it may be a new lock by then.
 */
async function seize(file: string, own: string): Promise<void> {
  while (!(await placed(own, file))) {
    const other = await holderOf(file)
    if (!other) continue
    if (await mayBeAlive(other)) throw new StorageLocked(file, other)
    const takeover = `${file}.takeover`
    await seize(takeover, own)
    try {
      if ((await holderOf(file))?.id === other.id) await rm(file)
    } finally {
      await rm(takeover, { force: true })
    }
  }
}

/** Puts the lock in place in one step, so that nobody reads half of it. Returns false if there is a lock already. */
async function placed(own: string, file: string): Promise<boolean> {
  try {
    await link(own, file)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
  }
  try {
    // Some file systems have no links.
    await copyFile(own, file, constants.COPYFILE_EXCL)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function holderOf(file: string): Promise<Holder | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    const holder: unknown = JSON.parse(text)
    if (isHolder(holder)) return holder
  } catch {}
  throw new StorageLocked(file, undefined)
}

function isHolder(value: unknown): value is Holder {
  if (!isObject(value)) return false
  const { pid, host, started, id } = value
  const isNamed = typeof host === 'string' && typeof id === 'string'
  return isNamed && Number.isSafeInteger(pid) && (started === null || typeof started === 'string')
}

async function mayBeAlive({ pid, host, started }: Holder): Promise<boolean> {
  if (host !== hostname()) return true
  try {
    process.kill(pid, 0)
  } catch (error) {
    return !hasCode(error, 'ESRCH')
  }
  const now = started === null ? undefined : await startOf(pid)
  return now === undefined || now === started
}

/** When a process started: the machine's boot id and the ticks since then. Undefined if the system does not say. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The start is the 22nd field. The second is a name in brackets, and may contain spaces and brackets itself.
    return `${boot.trim()}/${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`
  } catch {
    return undefined
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', PRIVATE)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
