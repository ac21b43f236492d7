import { type ChildProcess, spawn } from 'node:child_process'
import { environmentOf } from '../../adapters/testing/environment.js'
import { StorageUnavailable } from '../../src/storage/storage.js'
import type { Settings } from '../config.js'
import { type RunningSandbox, startSandbox } from '../sandbox.js'
import { codeOf, packageManagerEnded } from '../signals.js'
import { printToStderr } from '../terminal.js'
import { dashboardOf } from './start.js'

const forwardedSignals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Runs a command next to its own sandbox, and ends like it. Throws `StorageUnavailable` if only the disk fails. */
export async function exec([command = '', ...args]: readonly string[], settings: Settings): Promise<void> {
  const sandbox = await startSandbox(settings, { warn: printToStderr })
  const ended = await run(command, args, sandbox, () => {
    // The output is the command's.
    if (!settings.quiet) printToStderr(`workbench: ${dashboardOf(sandbox, settings)}`)
  })
  try {
    await sandbox.close()
  } catch (error) {
    // The command's own failure says more.
    if (!(error instanceof StorageUnavailable) || ('code' in ended && ended.code === 0)) throw error
    printToStderr(error.message)
  }
  if ('code' in ended) process.exitCode = ended.code
  else endWithSignal(ended.signal)
}

type Ended = { code: number } | { signal: NodeJS.Signals }

function run(command: string, args: readonly string[], sandbox: RunningSandbox, onSpawn: () => void): Promise<Ended> {
  const isWindows = process.platform === 'win32'
  const child = spawn(command, isWindows ? args.map(quotedArgument) : args, {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...environmentOf(sandbox.url, sandbox.credentials),
      FARTHING_CONTROL_TOKEN: sandbox.controlToken,
    },
    // On Windows many commands are scripts, which only the shell finds.
    shell: isWindows,
  })
  for (const signal of forwardedSignals) process.on(signal, () => forwardSignal(signal, child))
  void packageManagerEnded().then(() => child.kill())
  child.once('spawn', onSpawn)
  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      printToStderr(`cannot run ${command}: ${error.code === 'ENOENT' ? 'command not found' : error.message}`)
      resolve({ code: error.code === 'ENOENT' ? 127 : 126 })
    })
    child.once('close', (code, signal) => resolve(signal ? { signal } : { code: code ?? 1 }))
  })
}

/** A terminal sends Ctrl+C to the command too. */
function forwardSignal(signal: NodeJS.Signals, child: ChildProcess): void {
  if (signal === 'SIGINT' && process.stdin.isTTY) return
  child.kill(signal)
}

function endWithSignal(signal: NodeJS.Signals): void {
  for (const each of forwardedSignals) process.removeAllListeners(each)
  process.exitCode = codeOf(signal)
  process.kill(process.pid, signal)
}

const quotedArgument = (argument: string): string =>
  /[\s"]/.test(argument) ? `"${argument.replaceAll('"', '\\"')}"` : argument
