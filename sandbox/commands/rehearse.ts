import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { environmentOf } from '../../adapters/testing/environment.js'
import type { RunEnd } from '../../src/sandbox/rehearse/record.js'
import { recordRun, runStart } from '../../src/sandbox/rehearse/record-run.js'
import { armPlan, DEFAULT_SLOW_MS } from '../../src/sandbox/rehearse/rehearse.js'
import {
  type Rehearsal,
  RehearsalRefused,
  type RehearsalStage,
  rehearseOn,
} from '../../src/sandbox/rehearse/rehearse-stage.js'
import { showRehearsal } from '../../src/sandbox/rehearse/report.js'
import { rehearsalHtml, rehearsalJson, rehearsalJUnit, rehearsalTest } from '../../src/sandbox/rehearse/report-files.js'
import { messageOf } from '../../src/storage/unknown.js'
import type { Settings } from '../config.js'
import { Refusal } from '../refusal.js'
import { type RunningSandbox, startSandbox } from '../sandbox.js'
import { Progress, printLine, printText, printToStderr } from '../terminal.js'
import { callControls, runningService } from './running-service.js'
import { WatchedRehearsal } from './watched-rehearsal.js'

export interface RehearseFlags {
  readonly randomSeed?: string
  readonly budget?: string
  readonly slow?: string
  readonly json?: boolean
  readonly junit?: string
  readonly html?: string
  readonly as?: 'vitest'
  readonly restart?: boolean
  /** The sandbox whose workbench shows it. */
  readonly url?: string
  readonly controlToken?: string
}

/** Rehearses a command beside a sandbox of its own. Exits with 1 if there are findings. Throws `Refusal`. */
export async function rehearseCommand(
  command: readonly string[],
  flags: RehearseFlags,
  settings: Settings,
): Promise<void> {
  const { runs, ms } = readBudget(flags.budget)
  const randomSeed = readNumber('--random-seed', flags.randomSeed) ?? 1
  const slowMs = readNumber('--slow', flags.slow) ?? DEFAULT_SLOW_MS
  const watched = await watchedBy(flags, command)
  const sandbox = await startSandbox(settings, { warn: printToStderr })
  const progress = new Progress({ json: flags.json })
  try {
    const rehearsal = await rehearseOn(await commandStage(command, sandbox, slowMs), {
      ...{ runs, ms, randomSeed, restart: flags.restart, now: () => performance.now() },
      onRun: ({ runs: done, of, findings }) =>
        progress.show('rehearsing', { share: done / of, count: `run ${done} of ${of}, findings: ${findings}` }),
      onJudged: (soFar) => watched?.show(soFar),
    })
    progress.end()
    const unseen = await watched?.end(rehearsal)
    if (unseen !== undefined) printToStderr(`${flags.url} did not keep the report: ${unseen}`)
    await report(rehearsal, command, flags)
    process.exitCode = rehearsal.isOk ? 0 : 1
  } catch (error) {
    progress.end()
    if (error instanceof RehearsalRefused) throw new Refusal(error.message, { cause: error })
    throw error
  } finally {
    await sandbox.close()
  }
}

/** Finds the sandbox whose workbench shows the rehearsal. Throws `Refusal` if `--url` names none. */
async function watchedBy({ url, controlToken }: RehearseFlags, command: readonly string[]) {
  if (url === undefined) return undefined
  const sandbox = runningService({ url, controlToken }, { fetch, environment: process.env })
  await callControls(sandbox, () => sandbox.service.rehearsals.list())
  const watched = new WatchedRehearsal(sandbox, command.join(' '))
  printToStderr(`watch it at ${watched.address}`)
  return watched
}

async function report(rehearsal: Rehearsal, command: readonly string[], flags: RehearseFlags): Promise<void> {
  const { json, junit, html, as } = flags
  if (junit !== undefined) await write(junit, rehearsalJUnit(rehearsal))
  if (html !== undefined) await write(html, rehearsalHtml(rehearsal))
  if (as === 'vitest') printText(rehearsalTest(rehearsal, command))
  else if (json) printLine(rehearsalJson(rehearsal))
  else printText(`${showRehearsal(rehearsal)}\n`)
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    throw new Refusal(`cannot write ${file}: ${messageOf(error)}`, { cause: error })
  }
}

/** `60`: runs. `5m`: minutes. */
function readBudget(budget: string | undefined): { runs: number; ms: number | undefined } {
  const [, count, unit] = /^([1-9]\d{0,5})(m?)$/.exec(budget ?? '60') ?? []
  if (count === undefined) throw new Refusal('--budget must be a number of runs, such as 60, or of minutes, such as 5m')
  return unit === 'm'
    ? { runs: Number.POSITIVE_INFINITY, ms: Number(count) * 60_000 }
    : { runs: Number(count), ms: undefined }
}

function readNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new Refusal(`${flag} must be a whole number`)
  return Number(text)
}

const STATE = 'before-each-run'

/** Each run begins with the same snapshot: a command has one address for all runs. */
async function commandStage(
  command: readonly string[],
  sandbox: RunningSandbox,
  slowMs: number,
): Promise<RehearsalStage> {
  const controls = sandbox.service.sandbox
  await controls.snapshots.save(STATE)
  return {
    async run(plan) {
      await controls.faults.clear()
      await controls.rewind(STATE)
      const start = await runStart(controls)
      await armPlan(controls, plan, slowMs)
      const isRestarted = plan.some(({ kind }) => kind === 'restart')
      if (isRestarted) await runCommand(command, sandbox, { untilFault: true })
      const { ended, output } = await runCommand(command, sandbox)
      return recordRun(controls, start, { ended, output })
    },
  }
}

/** As much output as a judge reads. */
const MOST_OUTPUT = 4_000_000

async function runCommand(
  [command = '', ...args]: readonly string[],
  sandbox: RunningSandbox,
  { untilFault = false } = {},
): Promise<{ ended: RunEnd; output: string }> {
  const isWindows = process.platform === 'win32'
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...environmentOf(sandbox.url, sandbox.credentials),
      FARTHING_CONTROL_TOKEN: sandbox.controlToken,
    },
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
  if (untilFault) void stopAtFault(sandbox, stop)
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

async function stopAtFault(sandbox: RunningSandbox, stop: () => void): Promise<void> {
  for await (const { fault } of sandbox.requests())
    if (fault !== undefined) {
      stop()
      return
    }
}
