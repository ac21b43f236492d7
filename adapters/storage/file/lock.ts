import { randomUUID } from 'node:crypto'
import { constants, readFileSync } from 'node:fs'
import { copyFile, link, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { hasCode, ignore } from '../../../src/storage/unknown.js'
import { syncFile, withFile, writePieces } from './disk.js'
import { StorageLocked } from './errors.js'

export interface Lock {
  /** Throws `StorageLocked` if a different process has taken the lock, or someone removed it. */
  check(): void
  /** If the lock cannot be removed, this process may take it again, and others may when this process ends. */
  release(): Promise<void>
}

interface Holder {
  readonly pid: number
  /** Null if the system may not be asked. */
  readonly host: string | null
  /** Distinguishes this process from a later one with the same pid, such as 1 in a container. Null if unknown. */
  readonly started: string | null
  readonly id: string
}

/** The ids of holders in this process that need their lock no more. The disk may have refused to remove it. */
const ended = new Set<string>()
/** A process that was just killed may need this long to end. */
const PATIENCE_MS = 2000
const LOOK_AGAIN_MS = 50

/** Takes a lock file for this process. Throws `StorageLocked` if a different holder is alive, or may be, for two seconds. */
export async function takeLock(file: string): Promise<Lock> {
  for (let waited = 0; ; waited += LOOK_AGAIN_MS)
    try {
      return await takeFreeLock(file)
    } catch (error) {
      const isEnding = error instanceof StorageLocked && error.holder?.host === hostName()
      if (!isEnding || error.holder?.pid === process.pid || waited >= PATIENCE_MS) throw error
      await delay(LOOK_AGAIN_MS)
    }
}

async function takeFreeLock(file: string): Promise<Lock> {
  const { pid } = process
  const holder: Holder = { pid, host: hostName(), started: (await statOf(pid))?.started ?? null, id: randomUUID() }
  const own = `${file}.${holder.id}`
  const text = `${JSON.stringify(holder)}\n`
  try {
    await writePieces(own, 'wx', [text])
    await seize(file, own)
  } catch (error) {
    ended.add(holder.id)
    throw error
  } finally {
    // It has the lock, whether or not this name of it stays.
    await rm(own, { force: true }).catch(ignore)
  }
  return {
    check() {
      let now: string | undefined
      try {
        now = readFileSync(file, 'utf8')
      } catch (error) {
        if (!hasCode(error, 'ENOENT')) throw error
      }
      // The whole content is compared, because another lock may get the same inode.
      if (now !== text) throw new StorageLocked(file, now === undefined ? undefined : parseHolder(now))
    },
    async release() {
      try {
        if ((await holderOf(file))?.id === holder.id) await rm(file, { force: true })
      } catch (error) {
        ended.add(holder.id)
        throw error
      }
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
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
  try {
    await withFile(file, 'r+', syncFile)
    return true
  } catch (error) {
    // After a power loss, an empty lock would have no holder who could be dead.
    await rm(file, { force: true })
    throw error
  }
}

async function holderOf(file: string): Promise<Holder | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  })
  const holder = text === undefined ? undefined : parseHolder(text)
  if (text !== undefined && !holder) throw new StorageLocked(file, undefined)
  return holder
}

function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, host, started, id } = JSON.parse(text) as { readonly [Key in keyof Holder]?: unknown } // Or it throws.
    const isNamed = typeof id === 'string' && isTextOrNull(host) && isTextOrNull(started)
    return isNamed && Number.isSafeInteger(pid) ? { pid: Number(pid), host, started, id } : undefined
  } catch {
    return undefined
  }
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string'

/** Null in a Deno without `--allow-sys=hostname`. Then a holder that is dead looks alive. */
function hostName(): string | null {
  try {
    return os.hostname()
  } catch {
    return null
  }
}

async function mayBeAlive({ pid, host, started, id }: Holder): Promise<boolean> {
  if (ended.has(id)) return false
  if (host === null || host !== hostName()) return true
  try {
    process.kill(pid, 0)
  } catch (error) {
    return !hasCode(error, 'ESRCH')
  }
  const stat = await statOf(pid)
  if (stat?.isDead) return false
  return stat === undefined || started === null || stat.started === started
}

/**
 * `started`: the machine's boot id and the ticks from then until the process started. `isDead`: it has ended, and nobody
 * has asked for its exit code yet. Undefined if the system does not say.
 */
async function statOf(pid: number) {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The second field is a name in brackets, and may contain spaces and brackets itself. The state is the third field, and the start the 22nd.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { started: `${boot.trim()}/${fields[19]}`, isDead: /^[ZXx]$/.test(fields[0] ?? '') }
  } catch {
    return undefined
  }
}
