import { spawn } from 'node:child_process'
import type { RunEnd } from '../../src/sandbox/rehearse/record.js'
import { Refusal } from '../refusal.js'

/** As much output as a judge reads. */
const MOST_OUTPUT = 4_000_000

export interface CommandOptions {
  /** Besides that of this process. */
  readonly environment: Readonly<Record<string, string>>
  /** The command is stopped when this resolves. Default: it ends by itself. */
  readonly until?: Promise<void> | undefined
}

/** Runs a command, and reads what it prints. Throws `Refusal` if it cannot begin. */
export async function runCommand(
  [command = '', ...args]: readonly string[],
  { environment, until }: CommandOptions,
): Promise<{ ended: RunEnd; output: string }> {
  const isWindows = process.platform === 'win32'
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
    // On Windows many commands are scripts, which only the shell finds.
    shell: isWindows,
  })
  let [output, result] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (result.length < MOST_OUTPUT) result += text
  })
  for (const stream of [child.stdout, child.stderr.setEncoding('utf8')])
    stream.on('data', (text: string) => {
      if (output.length < MOST_OUTPUT) output += text
    })
  const stop = () => void child.kill('SIGKILL')
  process.once('exit', stop)
  void until?.then(stop)
  const ended = await new Promise<RunEnd>((resolve, reject) => {
    child.once('error', (error) => reject(new Refusal(`cannot run ${command}: ${error.message}`, { cause: error })))
    child.once('close', (code, signal) =>
      resolve(
        code === 0
          ? { isOk: true, result: undefined }
          : { isOk: false, result: undefined, failure: signal ? `ended by ${signal}` : `exit code ${code}` },
      ),
    )
  }).finally(() => process.off('exit', stop))
  return { ended: ended.isOk ? { ...ended, result } : ended, output }
}
