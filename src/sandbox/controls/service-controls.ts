import { load } from '../../base/parts.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { seconds } from '../../base/time.js'
import { VERSION } from '../../base/version.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import type { z } from '../../http/fields/schema.js'
import { listDeadLetters } from '../../jobs/dead-letters/dead-letter.js'
import { outbox } from '../../jobs/outbox/outbox.js'
import { ensureSweep, SWEEP } from '../../jobs/retention/sweep-timer.js'
import { timers } from '../../jobs/schedule/timer.js'
import { testValuesOf } from '../../money/cards/test-values.js'
import type { Reader } from '../../storage/storage.js'
import { storageUnavailable } from '../../storage/unavailable.js'
import { sandboxOf } from '../onion/context.js'
import { type RehearsalReport, RehearsalReportShape } from '../onion/rehearsal-report.js'
import { keepClock } from '../settings/settings.js'
import type { DueWork, Health, Sandbox, ShownClock } from './sandbox.js'
import { ClockChangeShape, clockTime, durationMs, LAST_TIME, TIME_RANGE, wrongField } from './shapes.js'
import { stateControls } from './state-controls.js'

export { retryDeadLetter } from '../../jobs/dead-letters/dead-letter.js'

const loadKeys = () => load(() => import('./keys.js'))

export function serviceControls(service: ServiceContext) {
  const setClock = async ({ set, ...change }: Parameters<Sandbox['setClock']>[0]) => {
    const given = { ...change, ...(set !== undefined && { set: set instanceof Date ? set.toJSON() : set }) }
    await move(service, checkShape(ClockChangeShape, given))
    return showClock(service)
  }
  return {
    health: () => healthOf(service),
    clock: () => showClock(service),
    async nextDue() {
      return service.storage.read(nextDue)
    },
    setClock,
    advance: (advance) => setClock({ advance }),
    rotateKeys: async () => (await loadKeys()).rotateOidcKeys(service),
    forgetEncryptionKey: async () => (await loadKeys()).forgetEncryptionKey(service),
    coverage: async () => (await load(() => import('./coverage.js'))).readCoverage(sandboxOf(service)),
    get testValues() {
      return testValuesOf(service.cards)
    },
    async metrics() {
      const { readMetrics } = await load(() => import('../metrics/metrics.js'))
      return readMetrics(service, () => stateControls(service).ledger())
    },
  } satisfies Partial<Sandbox>
}

/** What the health check answers. Throws `storage_unavailable`, with the same fields, while nothing can be stored. */
export function checkHealth(service: ServiceContext): Health & { readonly ok: true } {
  const { processes, ...health } = healthOf(service)
  const shared = processes && { processes: [...processes] }
  const { fault } = service.storage
  if (fault) throw storageUnavailable(fault, { ...health, ...shared, clock: { ...health.clock } })
  return { ...health, ...shared, ok: true }
}

function healthOf(service: ServiceContext): Health {
  const { storage, options, background } = service
  const processes = background.processes()
  const fault = storage.fault && { fault: storage.fault.reason ?? 'the storage is unavailable' }
  return {
    ...{ ok: !storage.fault, ...fault, name: 'farthing', version: VERSION, storage: storage.name },
    ...{ clock: showClock(service), evidence: options.evidence, ...(processes && { processes }) },
  }
}

/** How many timers it looks at, past those of housekeeping. */
const FIRST_TIMERS = 10

async function nextDue(tx: Reader): Promise<DueWork | null> {
  const first = await tx.find(timers, { index: 'byDue', prefix: [], limit: FIRST_TIMERS })
  const timer = first.find(({ kind, due_at }) => kind !== SWEEP && due_at !== null)
  const [message] = await tx.find(outbox, { index: 'byDue', prefix: [], limit: 1 })
  const works = [
    ...(timer ? [{ at: timer.due_at ?? 0, kind: timer.kind, subject: timer.subject }] : []),
    ...(message ? [{ at: message.due_at ?? 0, kind: 'delivery', subject: `${message.kind} to ${message.to}` }] : []),
  ].sort((a, b) => a.at - b.at)
  const [next] = works
  return next ? { ...next, at: new Date(next.at).toISOString() } : null
}

function showClock(service: ServiceContext): ShownClock {
  const { clock } = sandboxOf(service)
  return { mode: clock.mode, now: new Date(clock.now()).toISOString() }
}

async function move(service: ServiceContext, { advance, set, mode }: z.output<typeof ClockChangeShape>): Promise<void> {
  const { background, storage } = service
  const { clock } = sandboxOf(service)
  const store = () =>
    storage.write(async (tx) => {
      keepClock(tx, clock.state())
      await ensureSweep(tx, clock.now())
    })
  if ([advance, set, mode].filter((each) => each !== undefined).length !== 1)
    throw problem('field_invalid', { detail: 'Send exactly one of "advance", "set" and "mode".' })
  if (mode !== undefined)
    return background.rest(async () => {
      clock.setMode(mode)
      await store()
    }, 'clock')
  await background.moveClock(() => {
    const to = set === undefined ? clock.now() + durationMs(required(advance, '"advance"')) : clockTime(set)
    if (!Number.isSafeInteger(to) || to < 0 || to > LAST_TIME) throw problem('field_invalid', { detail: TIME_RANGE })
    return to
  }, store)
}

export const showDeadLetters = async (tx: Reader) => ({
  dead_letters: (await listDeadLetters(tx)).map(({ parkedAt, ...work }) => ({ ...work, parked_at: seconds(parkedAt) })),
})

/** A rehearsal in the list. */
export interface KeptRehearsal {
  readonly id: string
  /** ISO 8601. When it was first kept. */
  readonly at: string
  readonly command: string
  readonly running: boolean
  readonly runs: number
  readonly findings: number
}

/** Reports of rehearsals, for the workbench. The process keeps the last 10. They are no part of the state. */
export interface RehearsalControls {
  /** Keeps a report, or replaces the one with this id. */
  keep(id: string, report: RehearsalReport): Promise<void>
  /** Lists the reports, the newest first. */
  list(): Promise<KeptRehearsal[]>
  /** Returns a report. Throws `not_found`. */
  read(id: string): Promise<RehearsalReport>
}

const MOST_REHEARSALS = 10
export const REHEARSAL_ID = /^[\w-]{1,64}$/

export function rehearsalControls(service: ServiceContext): RehearsalControls {
  const { rehearsals } = sandboxOf(service)
  return {
    async keep(id, given) {
      if (!REHEARSAL_ID.test(id)) throw wrongField('id', 'must be 1 to 64 letters, digits, _ or -')
      const report = checkShape(RehearsalReportShape, given)
      const at = rehearsals.get(id)?.at ?? new Date(service.clock.now()).toISOString()
      rehearsals.set(id, { at, report })
      for (const oldest of [...rehearsals.keys()].slice(0, -MOST_REHEARSALS)) rehearsals.delete(oldest)
    },
    list: async () =>
      [...rehearsals]
        .map(([id, { at, report }]) => {
          const { command = '', running = false, runs, findings } = report
          return { id, at, command, running, runs, findings: findings.length }
        })
        .reverse(),
    async read(id) {
      const kept = rehearsals.get(id)
      if (!kept) throw problem('not_found', { detail: `There is no rehearsal with the id ${JSON.stringify(id)}.` })
      return kept.report
    },
  }
}
