import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { posix } from 'node:path'

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** npm forwards signals that the terminal has already sent to all processes, so one Ctrl+C arrives twice. */
const SAME_MS = 100

/** Resolves at the first signal to stop. A second one ends the process at once, unless it says only that the terminal closed. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let first: number | undefined
    for (const signal of stopSignals)
      process.on(signal, () => {
        if (first === undefined) {
          first = performance.now()
          resolve(signal)
          return
        }
        // When a terminal closes, it and its shell each send SIGHUP: nobody asks for haste.
        if (signal !== 'SIGHUP' && performance.now() - first > SAME_MS) process.exit(codeOf(signal))
      })
  })
}

/** The exit code that shells use for a process that a signal ended. */
export const codeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]
const PARENT_CHECK_MS = 500

/**
 * Resolves when the package manager that started this process has ended, even by SIGKILL, which it cannot pass on.
 * Never resolves for a process that was started in another way, or that leads its own process group: shells and
 * `setsid` put what should go on alone into one.
 */
export function packageManagerEnded(): Promise<void> {
  const watched = packageManagers()
  if (watched.length === 0) return new Promise(() => {})
  const { ppid } = process
  return new Promise((resolve) => {
    const looking = setInterval(() => {
      if (process.ppid === ppid && watched.every(isAlive)) return
      clearInterval(looking)
      resolve()
    }, PARENT_CHECK_MS)
    looking.unref()
  })
}

/** The processes whose end is the end of this one: npm, or npm and its shell. */
function packageManagers(): number[] {
  const { npm_execpath, npm_lifecycle_event } = process.env
  const { ppid, pid } = process
  if ((npm_execpath === undefined && npm_lifecycle_event === undefined) || ppid <= 1) return []
  if (processOf(pid)?.group === pid) return []
  const parent = processOf(ppid)
  // npm runs commands in a shell. Some shells stay between npm and the command.
  return parent && shells.has(parent.name) && parent.parent > 1 ? [ppid, parent.parent] : [ppid]
}

const shells = new Set(['sh', 'ash', 'bash', 'dash', 'ksh', 'zsh', 'busybox'])

interface RunningProcess {
  readonly name: string
  readonly parent: number
  readonly group: number
  /** The process group that its terminal listens to. */
  readonly foreground: number
  readonly began?: number
  readonly hasEnded: boolean
}

/** Whether this process may read its terminal. True where nobody can tell. */
export function isInForeground(): boolean {
  const own = process.platform === 'win32' ? undefined : processOf(process.pid)
  return own === undefined || own.group === own.foreground
}

/** Undefined if there is no such process, or nobody can tell. */
function processOf(pid: number): RunningProcess | undefined {
  try {
    return process.platform === 'linux' ? fromProc(pid) : fromPs(pid)
  } catch {
    return undefined
  }
}

/** `42 (sh) S 41 42 …`: see proc_pid_stat(5). */
function fromProc(pid: number): RunningProcess {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const end = stat.lastIndexOf(')')
  const fields = stat.slice(end + 2).split(' ')
  const [state, parent, group, , , foreground] = fields
  const name = stat.slice(stat.indexOf('(') + 1, end)
  const began = Number(fields[19])
  const numbers = { parent: Number(parent), group: Number(group), foreground: Number(foreground), began }
  return { name, ...numbers, hasEnded: state === 'Z' || state === 'X' }
}

function fromPs(pid: number): RunningProcess {
  const shown = execFileSync('ps', ['-o', 'ppid=,pgid=,tpgid=,state=,comm=', '-p', String(pid)], { encoding: 'utf8' })
  const [parent, group, foreground, state = '', name = ''] = shown.trim().split(/\s+/)
  const numbers = { parent: Number(parent), group: Number(group), foreground: Number(foreground) }
  return { name: posix.basename(name), ...numbers, hasEnded: state.startsWith('Z') }
}

/** When a process began, in the ticks of its system. Undefined where only a slow command tells, or for none. */
export function processBegan(pid: number): number | undefined {
  return process.platform === 'linux' ? processOf(pid)?.began : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // A process of another user lives too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  // Only Linux tells cheaply whether it has ended and waits to be reaped.
  return process.platform !== 'linux' || processOf(pid)?.hasEnded !== true
}
