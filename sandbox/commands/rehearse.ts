import { writeFile } from 'node:fs/promises'
import { environmentOf } from '../../adapters/testing/environment.js'
import { redact } from '../../src/sandbox/journal/redact.js'
import { recordRun, runStart } from '../../src/sandbox/rehearse/record-run.js'
import { armPlan, DEFAULT_SLOW_MS } from '../../src/sandbox/rehearse/rehearse.js'
import {
  type Rehearsal,
  RehearsalRefused,
  type RehearsalStage,
  rehearseOn,
} from '../../src/sandbox/rehearse/rehearse-stage.js'
import {
  rehearsalHtml,
  rehearsalJUnit,
  rehearsalReport,
  rehearsalTest,
  showRehearsal,
} from '../../src/sandbox/rehearse/report.js'
import { messageOf } from '../../src/storage/unknown.js'
import type { Settings } from '../config.js'
import { proxyStage } from '../proxy/proxy-stage.js'
import { Refusal } from '../refusal.js'
import { type RunningSandbox, startSandbox } from '../sandbox.js'
import { Progress, printLine, printText, printToStderr } from '../terminal.js'
import { openProxy, type ProxyFlags, readNumber } from './proxy.js'
import { runCommand } from './rehearsed-command.js'
import { callControls, runningService } from './running-service.js'
import { WatchedRehearsal } from './watched-rehearsal.js'

export interface RehearseFlags extends Pick<ProxyFlags, 'to' | 'profile' | 'keepMessages'> {
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
  const { stage, close } = await (flags.to === undefined
    ? sandboxStage(command, settings, slowMs)
    : stageBefore(command, flags))
  const progress = new Progress({ json: flags.json })
  try {
    const rehearsal = await rehearseOn(stage, {
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
    await close()
  }
}

/** Finds the sandbox whose workbench shows the rehearsal. Throws `Refusal` if `--url` names none. */
async function watchedBy(flags: RehearseFlags, command: readonly string[]) {
  const { url, controlToken } = flags
  if (url === undefined) return undefined
  const sandbox = runningService({ url, controlToken }, { fetch, environment: process.env })
  await callControls(sandbox, () => sandbox.service.rehearsals.list())
  const watched = new WatchedRehearsal(sandbox, { command: redact(command.join(' ')), ...toldFlags(flags) })
  printToStderr(`watch it at ${watched.address}`)
  return watched
}

async function report(rehearsal: Rehearsal, command: readonly string[], flags: RehearseFlags): Promise<void> {
  const { json, junit, html, as } = flags
  if (junit !== undefined) await write(junit, rehearsalJUnit(rehearsal))
  if (html !== undefined) await write(html, rehearsalHtml(rehearsal))
  if (as === 'vitest') printText(rehearsalTest(rehearsal, command, repeatedFlags(flags)))
  else if (json) printLine(JSON.stringify({ ...rehearsalReport(rehearsal), ...toldFlags(flags) }))
  else printText(`${showRehearsal(rehearsal)}\n`)
}

/** What repeats a rehearsal besides its seed and its budget. */
function repeatedFlags({ to, profile, slow, restart }: RehearseFlags): string[] {
  const named = Object.entries({ to, profile, slow })
  const given = named.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]))
  return restart ? [...given, '--restart'] : given
}

/** The same for a report, in which no password of a URL stands. */
function toldFlags(flags: RehearseFlags): { flags?: string[] } {
  const repeated = repeatedFlags(flags).map((flag) => redact(flag))
  return repeated.length === 0 ? {} : { flags: repeated }
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    throw new Refusal(`cannot write ${file}: ${messageOf(error)}`, { cause: error })
  }
}

/** `60`: runs. `5m`: minutes. `30s`: seconds. */
function readBudget(budget: string | undefined): { runs: number; ms: number | undefined } {
  const [, count, unit] = /^([1-9]\d{0,5})([ms]?)$/.exec(budget ?? '60') ?? []
  if (count === undefined) throw new Refusal('--budget must be a number of runs, such as 60, or of minutes, such as 5m')
  if (!unit) return { runs: Number(count), ms: undefined }
  return { runs: Number.POSITIVE_INFINITY, ms: Number(count) * (unit === 'm' ? 60_000 : 1000) }
}

const STATE = 'before-each-run'

interface CommandStage {
  readonly stage: RehearsalStage
  close(): Promise<void>
}

/** Each run begins with the same snapshot: a command has one address for all runs. */
async function sandboxStage(command: readonly string[], settings: Settings, slowMs: number): Promise<CommandStage> {
  const sandbox = await startSandbox(settings, { warn: printToStderr })
  const controls = sandbox.service.sandbox
  await controls.snapshots.save(STATE)
  const environment = {
    ...environmentOf(sandbox.url, sandbox.credentials),
    FARTHING_CONTROL_TOKEN: sandbox.controlToken,
  }
  const stage: RehearsalStage = {
    async run(plan) {
      await controls.faults.clear()
      await controls.rewind(STATE)
      const start = await runStart(controls)
      await armPlan(controls, plan, slowMs)
      const isRestarted = plan.some(({ kind }) => kind === 'restart')
      if (isRestarted) await runCommand(command, { environment, until: faultOf(sandbox) })
      const { ended, output } = await runCommand(command, { environment })
      return recordRun(controls, start, { ended, output })
    },
  }
  return { stage, close: () => sandbox.close() }
}

/** Resolves when a fault happens. */
async function faultOf(sandbox: RunningSandbox): Promise<void> {
  for await (const { fault } of sandbox.requests()) if (fault !== undefined) return
}

/** Before a service that farthing is not. */
async function stageBefore(command: readonly string[], flags: RehearseFlags): Promise<CommandStage> {
  const { proxy, profile } = await openProxy(flags)
  const stage = proxyStage(proxy, (url, { until }) => {
    const names = ['FARTHING_URL', ...(profile.environment ?? [])]
    return runCommand(command, { environment: Object.fromEntries(names.map((name) => [name, url])), until })
  })
  return { stage, close: () => proxy.close() }
}
