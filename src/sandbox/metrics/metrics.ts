import { VERSION } from '../../base/version.js'
import type { ServiceContext } from '../../http/context.js'
import type { Audit } from '../../money/ledger/audit.js'
import { StorageUnavailable } from '../../storage/storage.js'
import { findJournal } from '../journal/journal.js'
import { sandboxOf } from '../onion/context.js'
import { DURATIONS, type MeasuredAudit, type Measurements } from '../onion/measurements.js'
import { startDueAudit } from './due-audit.js'
import { type Family, histogramSamples, type Labels, type Sample, writeOpenMetrics } from './open-metrics.js'
import { type AllWaitingWork, readWaitingWork, type WaitingWork } from './waiting-work.js'

/**
 * Returns what a sandbox measures, as OpenMetrics text. Counts are of this process since its start. What waits is read from
 * the storage, and left out while that cannot be read. Starts an audit of the ledger if the last one is old.
 */
export async function readMetrics(service: ServiceContext, audit: () => Promise<Audit>): Promise<string> {
  const { measurements } = sandboxOf(service)
  const waiting = service.intake.hasStarted() ? await readWaitingWork(service).catch(unread(service)) : undefined
  if (waiting) startDueAudit(service, audit)
  return writeOpenMetrics([
    ...buildFamilies(service),
    ...queueFamilies(service),
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

const one = (value: number, labels?: Labels): Sample[] => [{ value, ...(labels && { labels }) }]

const total = (value: number, labels?: Labels): Sample => ({ suffix: '_total', value, ...(labels && { labels }) })

const buildFamilies = ({ storage }: ServiceContext): Family[] => [
  {
    name: 'farthing_build',
    type: 'info',
    help: 'What runs: the version of farthing, and the kind of its storage.',
    samples: [{ suffix: '_info', labels: { version: VERSION, storage: storage.name }, value: 1 }],
  },
  {
    name: 'farthing_storage_writable',
    type: 'gauge',
    help: '1 while the storage takes writes, 0 while it refuses them.',
    samples: one(storage.fault ? 0 : 1),
  },
]

const queueFamilies = ({ intake: { waiting }, limits }: ServiceContext): Family[] => [
  {
    name: 'farthing_waiting_requests',
    type: 'gauge',
    help: 'Requests that wait for their first transaction.',
    samples: one(waiting.count),
  },
  {
    name: 'farthing_waiting_requests_limit',
    type: 'gauge',
    help: 'How many requests may wait before the next one is refused.',
    samples: one(limits.queue),
  },
]

function measuredFamilies({ startedAt, operations, commits, reruns }: Measurements): Family[] {
  const measured = [...operations]
  return [
    {
      name: 'farthing_requests',
      type: 'counter',
      help: 'Answered requests by operation and HTTP status. Status 0 is an answer that a fault dropped.',
      samples: measured.flatMap(([operation, { statuses }]) =>
        [...statuses].map(([status, count]) => total(count, { operation, status: String(status) })),
      ),
    },
    {
      name: 'farthing_request_duration_seconds',
      type: 'histogram',
      unit: 'seconds',
      help: 'How long requests took until their answer began, by operation.',
      samples: measured.flatMap(([operation, { buckets, seconds }]) =>
        histogramSamples({ operation }, DURATIONS, { counts: buckets, sum: seconds }),
      ),
    },
    {
      name: 'farthing_open_streams',
      type: 'gauge',
      help: 'Open event streams by operation.',
      samples: measured.flatMap(([operation, { streams }]) => (streams > 0 ? one(streams, { operation }) : [])),
    },
    {
      name: 'farthing_start_time_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'When this process started the service, in Unix seconds.',
      samples: one(startedAt / 1000),
    },
    {
      name: 'farthing_storage_commits',
      type: 'counter',
      help: 'Transactions of this process that changed rows.',
      samples: [total(commits)],
    },
    {
      name: 'farthing_storage_reruns',
      type: 'counter',
      help: 'How often the body of a write ran again.',
      samples: [total(reruns)],
    },
  ]
}

const waitingFamilies = ({ messages, timers }: AllWaitingWork): Family[] => [
  ...familiesOf('farthing_outbox', 'Messages of the outbox that wait, counted up to 1,000 in each state.', messages),
  ...familiesOf('farthing_timers', 'Timers that wait, counted up to 1,000 in each state.', timers),
]

const familiesOf = (name: string, help: string, { due, later, dead, overdueSeconds }: WaitingWork): Family[] => [
  {
    ...{ name, type: 'gauge', help: `${help} due, later, or dead: it failed too often.` },
    samples: Object.entries({ due, later, dead }).flatMap(([state, value]) => one(value, { state })),
  },
  {
    ...{ name: `${name}_overdue_seconds`, type: 'gauge', unit: 'seconds' },
    help: 'For how long the first one that waits is due. 0 if none is.',
    samples: one(overdueSeconds),
  },
]

function journalFamilies(service: ServiceContext): Family[] {
  const journal = findJournal(service)
  if (!journal) return []
  const { entries, bytes } = journal.size
  return [
    { name: 'farthing_journal_entries', type: 'gauge', help: 'Entries that the journal keeps.', samples: one(entries) },
    {
      ...{ name: 'farthing_journal_bytes', type: 'gauge', unit: 'bytes' },
      help: 'How large the entries of the journal are, roughly.',
      samples: one(bytes),
    },
    {
      ...{ name: 'farthing_journal_dropped', type: 'counter' },
      help: 'Entries that the journal has forgotten because it was full.',
      samples: [total(journal.dropped)],
    },
  ]
}

function auditFamilies(audit: MeasuredAudit | undefined): Family[] {
  if (!audit) return []
  const { ok, movements, at, ms } = audit
  return [
    {
      ...{ name: 'farthing_ledger_audit_ok', type: 'gauge' },
      help: '1 if the last audit of the ledger found nothing wrong, else 0.',
      samples: one(ok ? 1 : 0),
    },
    {
      ...{ name: 'farthing_ledger_audit_time_seconds', type: 'gauge', unit: 'seconds' },
      help: 'When the last audit of the ledger ended, in Unix seconds.',
      samples: one(at / 1000),
    },
    {
      ...{ name: 'farthing_ledger_audit_duration_seconds', type: 'gauge', unit: 'seconds' },
      help: 'How long the last audit of the ledger took.',
      samples: one(ms / 1000),
    },
    {
      ...{ name: 'farthing_ledger_movements', type: 'gauge' },
      help: 'Movements of the ledger at its last audit.',
      samples: one(movements),
    },
  ]
}
