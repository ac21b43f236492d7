import { readFileSync, renameSync, rmSync, statSync, utimes, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const heartbeatMs = 2_000
const lostAfterMs = 30_000

/**
 * Runs `work` while no other process holds the lock file at `path`. Waits for the holder otherwise.
 * The holder touches the file regularly. It loses the lock if it is dead, or silent for 30 seconds.
 *
 * @param {string} path
 * @param {() => void} onWait called once if there is a holder to wait for
 * @param {() => Promise<void>} work
 */
export async function withLock(path, onWait, work) {
  const mine = `${hostname()} ${process.pid}`
  for (let waits = 0; !(take(path, mine) || (isLost(path) && (await takeOver(path, mine)))); waits++) {
    if (waits === 0) onWait()
    await sleep(100)
  }
  const heartbeat = setInterval(() => utimes(path, new Date(), new Date(), () => {}), heartbeatMs)
  try {
    await work()
  } finally {
    clearInterval(heartbeat)
    if (holderOf(path) === mine) rmSync(path, { force: true })
  }
}

/** @param {string} path @param {string} mine */
function take(path, mine) {
  try {
    writeFileSync(path, mine, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Several processes may find the same lock lost. The last one to write its name gets the lock. @param {string} path @param {string} mine */
async function takeOver(path, mine) {
  writeFileSync(`${path}.${process.pid}`, mine)
  renameSync(`${path}.${process.pid}`, path)
  await sleep(200)
  return holderOf(path) === mine
}

/** @param {string} path */
function isLost(path) {
  const holder = holderOf(path)
  if (holder === undefined) return false
  const [host, pid] = holder.split(' ')
  return (host === hostname() && pid !== undefined && !isAlive(Number(pid))) || isSilent(path)
}

/** @param {string} path @returns {string | undefined} undefined if nobody holds the lock */
function holderOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** @param {string} path */
function isSilent(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && Date.now() - stat.mtimeMs > lostAfterMs
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
