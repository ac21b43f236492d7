import type { OutboxRow } from '../../base/message.js'
import { VERSION } from '../../base/version.js'
import type { SandboxContext, ServiceContext } from '../../http/context.js'
import { outbox } from '../../jobs/outbox/outbox.js'
import { timers } from '../../jobs/schedule/timer.js'
import type { Audit } from '../../money/ledger/audit.js'
import { type Query, StorageUnavailable } from '../../storage/storage.js'
import { findJournal } from '../journal/journal.js'
import { type SandboxParts, sandboxOf } from '../onion/context.js'
import { DURATIONS, type MeasuredAudit, type Measurements } from '../onion/measurements.js'
import { type Family, histogramSamples, type Sample, writeOpenMetrics } from './open-metrics.js'

/**
 * Returns what a sandbox measures, as OpenMetrics text. Counts are of this process since its start. What waits is read from
 * the storage, and left out while that cannot be read. Starts an audit of the ledger if the last one is old.
 */
export async function readMetrics(service: ServiceContext, audit: () => Promise<Audit>): Promise<string> {
  const { measurements } = sandboxOf(service)
  const waiting = service.intake.hasStarted() ? await readWaitingWork(service).catch(unread(service)) : undefined
  if (waiting) startDueAudit(service, audit)
  return writeOpenMetrics([
    ...serviceFamilies(service),
    ...(measurements ? measuredFamilies(measurements) : []),
    ...(waiting ? waitingFamilies(waiting) : []),
    ...journalFamilies(service),
    ...auditFamilies(measurements?.audit),
  ])
}

/** A storage that is unavailable says so itself. */
const unread =
  ({ log }: Pick<ServiceContext, 'log'>) =>
  (error: unknown): undefined => {
    if (!(error instanceof StorageUnavailable)) log.error('what waits could not be read', error)
  }

/** A metric of one number, or of several. */
const gauge = (name: string, help: string, value: number | readonly Sample[], unit?: Family['unit']): Family => ({
  ...{ name, type: 'gauge', help, samples: typeof value === 'number' ? [{ value }] : value, ...(unit && { unit }) },
})
const counter = (name: string, help: string, ...counts: readonly Omit<Sample, 'suffix'>[]): Family => ({
  ...{ name, type: 'counter', help, samples: counts.map((count) => ({ suffix: '_total', ...count })) },
})

const serviceFamilies = ({ storage, intake: { waiting }, limits }: ServiceContext): Family[] => [
  {
    name: 'farthing_build',
    type: 'info',
    help: 'What runs: the version of farthing, and the kind of its storage.',
    samples: [{ suffix: '_info', labels: { version: VERSION, storage: storage.name }, value: 1 }],
  },
  gauge(
    'farthing_storage_writable',
    '1 while the storage takes writes, 0 while it refuses them.',
    storage.fault ? 0 : 1,
  ),
  gauge('farthing_waiting_requests', 'Requests that wait for their first transaction.', waiting.count),
  gauge('farthing_waiting_requests_limit', 'How many requests may wait before the next one is refused.', limits.queue),
]

function measuredFamilies({ startedAt, operations, commits, reruns }: Measurements): Family[] {
  const measured = [...operations]
  const answered = measured.flatMap(([operation, { statuses }]) =>
    [...statuses].map(([status, value]) => ({ value, labels: { operation, status: String(status) } })),
  )
  const open = measured.filter(([, { streams }]) => streams > 0)
  return [
    counter(
      'farthing_requests',
      'Answered requests by operation and HTTP status. Status 0 is an answer that a fault dropped.',
      ...answered,
    ),
    {
      name: 'farthing_request_duration_seconds',
      type: 'histogram',
      unit: 'seconds',
      help: 'How long requests took until their answer began, by operation.',
      samples: measured.flatMap(([operation, { buckets, seconds }]) =>
        histogramSamples({ operation }, DURATIONS, { counts: buckets, sum: seconds }),
      ),
    },
    gauge(
      'farthing_open_streams',
      'Open event streams by operation.',
      open.map(([operation, { streams }]) => ({ value: streams, labels: { operation } })),
    ),
    gauge(
      'farthing_start_time_seconds',
      'When this process started the service, in Unix seconds.',
      startedAt / 1000,
      'seconds',
    ),
    counter('farthing_storage_commits', 'Transactions of this process that changed rows.', { value: commits }),
    counter('farthing_storage_reruns', 'How often the body of a write ran again.', { value: reruns }),
  ]
}

const waitingFamilies = ({ messages, timers }: AllWaitingWork): Family[] => [
  ...familiesOf('farthing_outbox', 'Messages of the outbox that wait, counted up to 1,000 in each state.', messages),
  ...familiesOf('farthing_timers', 'Timers that wait, counted up to 1,000 in each state.', timers),
]

const familiesOf = (name: string, help: string, { due, later, dead, overdueSeconds }: WaitingWork): Family[] => [
  gauge(
    name,
    `${help} due, later, or dead: it failed too often.`,
    Object.entries({ due, later, dead }).map(([state, value]) => ({ value, labels: { state } })),
  ),
  gauge(
    `${name}_overdue_seconds`,
    'For how long the first one that waits is due. 0 if none is.',
    overdueSeconds,
    'seconds',
  ),
]

function journalFamilies(service: ServiceContext): Family[] {
  const journal = findJournal(service)
  if (!journal) return []
  const { entries, bytes } = journal.size
  return [
    gauge('farthing_journal_entries', 'Entries that the journal keeps.', entries),
    gauge('farthing_journal_bytes', 'How large the entries of the journal are, roughly.', bytes, 'bytes'),
    counter('farthing_journal_dropped', 'Entries that the journal has forgotten because it was full.', {
      value: journal.dropped,
    }),
  ]
}

function auditFamilies(audit: MeasuredAudit | undefined): Family[] {
  if (!audit) return []
  const { ok, movements, at, ms } = audit
  const ended = 'When the last audit of the ledger ended, in Unix seconds.'
  return [
    gauge('farthing_ledger_audit_ok', '1 if the last audit of the ledger found nothing wrong, else 0.', ok ? 1 : 0),
    gauge('farthing_ledger_audit_time_seconds', ended, at / 1000, 'seconds'),
    gauge(
      'farthing_ledger_audit_duration_seconds',
      'How long the last audit of the ledger took.',
      ms / 1000,
      'seconds',
    ),
    gauge('farthing_ledger_movements', 'Movements of the ledger at its last audit.', movements),
  ]
}

/** How long a result of the audit counts as new. */
const NEW_MS = 10 * 60_000
/** A ledger that is large is audited less often: auditing takes at most this part of the time. */
const PART_OF_TIME = 0.1

/** The sandboxes whose ledgers are audited now. */
const auditing = new WeakSet<SandboxContext>()

/**
 * Starts an audit of the ledger in the background, if the last one is old and none runs. Its result is a measurement. A
 * storage that cannot be read leaves the last result.
 */
function startDueAudit(service: Pick<ServiceContext, 'sandbox' | 'log'>, audit: () => Promise<Audit>): void {
  const sandbox = sandboxOf(service)
  if (auditing.has(sandbox) || !isDue(sandbox)) return
  auditing.add(sandbox)
  audit()
    .catch((cause: unknown) => {
      if (!(cause instanceof StorageUnavailable)) service.log.error('the ledger could not be audited', cause)
    })
    .finally(() => auditing.delete(sandbox))
}

function isDue({ measurements, clock }: SandboxParts): boolean {
  const audit = measurements?.audit
  return audit === undefined || clock.realNow() - audit.at >= Math.max(NEW_MS, audit.ms / PART_OF_TIME)
}

/** A scrape counts this many rows of a kind at most, so that it costs the same however many wait. */
const MOST_COUNTED = 1000

/** Work of one kind that waits for its time, or for an operator. Each number stops at 1,000. */
interface WaitingWork {
  readonly due: number
  readonly later: number
  /** It failed too often, and waits for an operator. */
  readonly dead: number
  /** For how long the first of it is due. 0 if nothing is. */
  readonly overdueSeconds: number
}

type AllWaitingWork = Readonly<Record<'messages' | 'timers', WaitingWork>>

const readWaitingWork = ({ storage, clock }: Pick<ServiceContext, 'storage' | 'clock'>): Promise<AllWaitingWork> =>
  storage.read(async (tx) => {
    const at = clock.now()
    return {
      messages: withAside(await countWaiting((query) => tx.find(outbox, query), at), await tx.find(outbox, ASIDE), at),
      timers: await countWaiting((query) => tx.find(timers, query), at),
    }
  })

/** Messages whose time has come, and that wait for a place of their queue or of their owner. */
const ASIDE = { index: 'byWaiting', prefix: [], limit: MOST_COUNTED } as const

function withAside(waiting: WaitingWork, aside: readonly OutboxRow[], at: number): WaitingWork {
  const since = aside.map(({ waits_since }) => (at - (waits_since ?? at)) / 1000)
  return {
    ...waiting,
    due: Math.min(waiting.due + aside.length, MOST_COUNTED),
    overdueSeconds: Math.max(waiting.overdueSeconds, ...since),
  }
}

type Find = (query: Query<'byDue' | 'byParked'>) => Promise<readonly { readonly due_at: number | null }[]>

async function countWaiting(find: Find, at: number): Promise<WaitingWork> {
  const first = { prefix: [], limit: MOST_COUNTED }
  const earliest = await find({ ...first, index: 'byDue' })
  const due = earliest.filter(({ due_at }) => due_at !== null && due_at <= at)
  const later = await find({ ...first, index: 'byDue', after: [at, Number.MAX_SAFE_INTEGER] })
  const dead = await find({ ...first, index: 'byParked' })
  const overdueSeconds = (at - (due[0]?.due_at ?? at)) / 1000
  return { due: due.length, later: later.length, dead: dead.length, overdueSeconds }
}
