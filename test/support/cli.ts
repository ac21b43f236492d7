import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll } from 'vitest'
import type { Credentials } from '../../src/index.js'
import { setUp } from './set-up.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const command = join(root, 'dist', 'cli', 'farthing.js')

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A process of the built command. */
export interface Process {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** The first line on stdout. Rejects if the process ends before it. */
  firstLine(): Promise<string>
}

/** A running sandbox that printed its address with `--json`. */
export interface Sandbox extends Process, Credentials {
  readonly url: string
  readonly dashboard: string
  readonly control_token: string
  readonly pid: number
  readonly data: string | null
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

export interface RunOptions {
  /** Default: the test's own directory. */
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** No file may become larger, in KiB. A write past that fails with EFBIG. Needs a shell. */
  readonly largestFileKiB?: number
}

/** What listens takes a free port unless told. */
export interface Cli {
  /** The test's own directory, empty at first. */
  readonly directory: string
  spawn(args: readonly string[], options?: RunOptions): Process
  run(args: readonly string[], options?: RunOptions): Promise<Ended>
  /** Starts, and waits until it listens. */
  start(args?: readonly string[], options?: RunOptions): Promise<Sandbox>
}

/** The built command, for the tests of one file. What a test starts is ended with it, however it ends. */
export function cli(): Cli {
  const running = new Set<ChildProcess>()
  let directory = ''

  beforeAll(setUp)
  afterEach(async () => {
    for (const child of running) child.kill('SIGKILL')
    await Promise.all([...running].map((child) => new Promise((resolve) => child.once('close', resolve))))
    if (directory) await rm(directory, { recursive: true })
    directory = ''
  })

  function spawnCli(args: readonly string[], { cwd, env = {}, largestFileKiB }: RunOptions = {}): Process {
    const node = [process.execPath, command, ...args]
    const limit = `ulimit -f ${largestFileKiB}; exec "$@"`
    const [file = '', ...rest] = largestFileKiB === undefined ? node : ['bash', '-c', limit, 'bash', ...node]
    const child = spawn(file, rest, {
      cwd: cwd ?? cliOfTest.directory,
      // The lowest of the settings: without a port of its own, a command listens on a free one.
      env: { ...outerEnvironment(), PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text
      })
    const ended = new Promise<Ended>((resolve) =>
      child.once('close', (code, signal) => {
        running.delete(child)
        resolve({ code, signal, ...output })
      }),
    )
    return { child, ended, firstLine: () => firstLine(child, ended, output) }
  }

  const cliOfTest: Cli = {
    get directory() {
      directory ||= mkdtempSync(join(tmpdir(), 'farthing-'))
      return directory
    },
    spawn: spawnCli,
    run: (args, options) => spawnCli(args, options).ended,
    async start(args = [], options) {
      const started = spawnCli(['start', '--json', ...args], options)
      const said = JSON.parse(await started.firstLine()) as Omit<Sandbox, keyof Process | 'stop'>
      const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
        started.child.kill(signal)
        return started.ended
      }
      return { ...said, ...started, stop }
    },
  }
  return cliOfTest
}

function firstLine(child: ChildProcess, ended: Promise<Ended>, output: { stdout: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const end = output.stdout.indexOf('\n')
      if (end >= 0) resolve(output.stdout.slice(0, end))
    }
    look()
    child.stdout?.on('data', look)
    ended.then(({ code, signal, stderr }) => reject(new Error(`it ended with ${signal ?? code} and said: ${stderr}`)))
  })
}

/** Without what would configure the command. */
function outerEnvironment(): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(FARTHING_|PORT$|NODE_|VITEST|FORCE_COLOR)/.test(name),
  )
  return Object.fromEntries(inherited)
}
