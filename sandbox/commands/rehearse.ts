import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { isRefusal } from '../../adapters/client.js'
import { environmentOf } from '../../adapters/testing/environment.js'
import { redact } from '../../src/sandbox/journal/redact.js'
import type { RunEnd } from '../../src/sandbox/rehearse/record.js'
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
import type { Settings } from '../config.js'
import { proxyStage } from '../proxy/proxy.js'
import { Refusal, refuseFile } from '../refusal.js'
import { type RunningSandbox, startSandbox } from '../sandbox.js'
import { checkTarget } from '../state.js'
import { Progress, printLine, printText, printToStderr } from '../terminal.js'
import { openProxy, type ProxyFlags, readNumber } from './proxy.js'
import { callControls, type RunningService, runningService } from './running-service.js'

interface RehearseFlags extends Pick<ProxyFlags, 'to' | 'profile' | 'keepMessages'> {
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
  // A report that cannot be written would be lost after minutes of runs.
  for (const file of [flags.junit, flags.html]) if (file !== undefined) await checkTarget(file)
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
  await checkTarget(file)
  await writeFile(file, text).catch((error: unknown) => refuseFile('write', file, error))
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

/** As much output as a judge reads. */
const MOST_OUTPUT = 4_000_000

interface CommandOptions {
  /** Besides that of this process. */
  readonly environment: Readonly<Record<string, string>>
  /** The command is stopped when this resolves. Default: it ends by itself. */
  readonly until?: Promise<void> | undefined
}

/** Runs a command, and reads what it prints. Throws `Refusal` if it cannot begin. */
async function runCommand(
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

/** Keeps the report of a rehearsal in a sandbox while it runs, so that its workbench shows it. */
class WatchedRehearsal {
  readonly id = `r-${Date.now().toString(36)}`
  #next: Rehearsal | undefined
  #sending: Promise<void> | undefined
  #why: string | undefined

  constructor(
    readonly sandbox: RunningService,
    readonly told: { readonly command: string; readonly flags?: string[] },
  ) {}

  /** Where the workbench shows it. */
  get address(): string {
    return `${this.sandbox.url}/#/rehearse/${this.id}`
  }

  /** Sends the newest report after the one on its way. */
  show(soFar: Rehearsal): void {
    this.#next = soFar
    this.#sending ??= this.#sendAll()
  }

  /** Sends the whole report. Returns why the sandbox did not keep it, or undefined. */
  async end(rehearsal: Rehearsal): Promise<string | undefined> {
    await this.#sending
    this.#why = undefined
    await this.#send(rehearsal, false)
    return this.#why
  }

  async #sendAll(): Promise<void> {
    while (this.#next) {
      const report = this.#next
      this.#next = undefined
      await this.#send(report, true)
    }
    this.#sending = undefined
  }

  /** A rehearsal goes on although nobody can watch it. */
  async #send(rehearsal: Rehearsal, running: boolean): Promise<void> {
    const { id, told } = this
    try {
      const { findings, ...report } = rehearsalReport(rehearsal)
      // Messages of a proxied service stay in the reports that were asked for.
      const shown = findings.map(({ messages: _, ...finding }) => finding)
      await this.sandbox.service.rehearsals.keep(id, { ...told, running, ...report, findings: shown })
    } catch (error) {
      this.#why = isRefusal(error) ? error.message : 'it does not answer'
    }
  }
}
