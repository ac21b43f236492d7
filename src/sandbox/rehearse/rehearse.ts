import type { Sandbox } from '../controls/sandbox.js'
import { type FaultPlan, faultsFor } from './plan.js'
import type { RunEnd, RunRecord } from './record.js'
import { type ObservedSandbox, recordRun, runStart } from './record-run.js'
import { type Rehearsal, type RehearsalOptions, type RehearsalStage, rehearseOn } from './rehearse-stage.js'

export interface RehearseOptions extends RehearsalOptions {
  /** How long a slow answer takes, in milliseconds: longer than the client waits. Default: 1,000. */
  readonly slowMs?: number | undefined
}

/** What of a service a rehearsal needs. */
export interface RehearsableService<S> {
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  readonly sandbox: ObservedSandbox & Pick<Sandbox, 'faults'> & { fork(): Promise<S> }
  close(options?: { readonly withinMs?: number }): Promise<void>
}

/** What a run gets besides its service. */
export interface RunTools {
  /** Takes what the application logs, which may hold no secret. */
  log(text: string): void
}

/**
 * Runs an application without faults and then under many, each time on a fork of the same state, and judges from the
 * ledger whether it pays twice. `run` is the application. It may throw where a fault leaves it no choice. What it returns
 * is what it delivers. Throws `RehearsalRefused` if it fails without faults or pays nothing.
 */
export function rehearse<S extends RehearsableService<S>>(
  service: S,
  run: (fork: S, tools: RunTools) => unknown,
  { slowMs = DEFAULT_SLOW_MS, ...options }: RehearseOptions = {},
): Promise<Rehearsal> {
  return rehearseOn(forkStage(service, run, slowMs), options)
}

export const DEFAULT_SLOW_MS = 1000
/** A fork waits no longer for what its run left behind. */
const CLOSE_MS = 1000

function forkStage<S extends RehearsableService<S>>(
  service: S,
  run: (fork: S, tools: RunTools) => unknown,
  slowMs: number,
): RehearsalStage {
  const runOnce = async (fork: S, plan: FaultPlan): Promise<RunRecord> => {
    const { sandbox } = fork
    await sandbox.faults.clear()
    const start = await runStart(sandbox)
    await armPlan(sandbox, plan, slowMs)
    const lines: string[] = []
    const log = (text: string) => void lines.push(text)
    const isRestarted = plan.some(({ kind }) => kind === 'restart')
    if (isRestarted) await endOf(() => run(stoppedByFault(fork), { log }))
    const ended = await endOf(() => run(fork, { log }))
    return recordRun(sandbox, start, { ended, output: lines.join('\n') })
  }
  return {
    async run(plan) {
      const fork = await service.sandbox.fork()
      try {
        return await runOnce(fork, plan)
      } finally {
        await fork.close({ withinMs: CLOSE_MS })
      }
    },
  }
}

/** Arms the faults of a plan, and no others. */
export async function armPlan({ faults }: Pick<Sandbox, 'faults'>, plan: FaultPlan, slowMs: number): Promise<void> {
  await faults.clear()
  for (const fault of faultsFor(plan, { slowMs })) await faults.arm(fault)
}

async function endOf(run: () => unknown): Promise<RunEnd> {
  try {
    const result = await run()
    return { isOk: true, result: result === undefined ? undefined : JSON.stringify(result) }
  } catch (error) {
    return { isOk: false, result: undefined, failure: error instanceof Error ? error.message : String(error) }
  }
}

/** The service as a process sees it that is stopped when an answer is lost: nothing that it calls later arrives. */
function stoppedByFault<S extends RehearsableService<S>>(fork: S): S {
  let isStopped = false
  const fetch: S['fetch'] = async (input, init) => {
    if (isStopped) throw new TypeError('The process was stopped.')
    try {
      return await fork.fetch(input, init)
    } catch (error) {
      isStopped = true
      throw error
    }
  }
  return { ...fork, fetch }
}
