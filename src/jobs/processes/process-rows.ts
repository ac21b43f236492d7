import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { instanceIn } from '../../storage/claim.js'
import { collection, type Reader, type State } from '../../storage/storage.js'

/** A process that serves from a shared storage, or the control that one of them runs for all. */
export interface ProcessRow {
  readonly id: string
  /** The instance name of the service, `:`, and a random part or the kind of a control. */
  readonly holder: string
  /** Grows with each step of a control. */
  readonly fence: number
}

export const processes = collection<ProcessRow>()(
  'processes',
  {},
  {
    growth: { by: 'the service', bound: 'One for each process, and one for the control that runs.' },
    retention: { until: 'its process ends, or others see no heartbeat of it for ten seconds' },
  },
)

const kinds = ['clock', 'faults', 'state'] as const
/** What a control changes for all processes: the clock, the armed faults, or the whole state with its clock and key. */
export type ControlKind = (typeof kinds)[number]
const PROCESS = 'process:'
const CONTROL = 'control'
/** More processes than ever share a storage. */
const MOST_PROCESSES = 1000

/**
 * The row of a process that serves from a shared storage. Its holder changes with each beat, which shows that the process
 * is alive. Its fence is that of the last step of a control that the process has followed.
 */
export const processRow = ({ instance, random }: Pick<ServiceContext, 'instance' | 'random'>, fence: number) => ({
  id: PROCESS + instance,
  holder: `${instance}:${randomHex(random, 8)}`,
  fence,
})

/** The rows of all processes. The one of the control comes before them. */
export const processRows = (tx: Reader): Promise<ProcessRow[]> =>
  tx.find(processes, { index: 'id', prefix: [], after: [PROCESS], limit: MOST_PROCESSES })

export const readProcessRow = (tx: Reader, instance: string): Promise<ProcessRow | undefined> =>
  tx.get(processes, PROCESS + instance)

/** The last control that ran on this storage, or runs now. Its fence grows when it begins and when it ends. */
export interface Control {
  readonly kind: ControlKind
  /** The instance name of the process that runs it. Undefined once it has ended. */
  readonly runBy: string | undefined
  readonly fence: number
}

export async function readControl(tx: Reader): Promise<Control | undefined> {
  const row = await tx.get(processes, CONTROL)
  if (!row) return undefined
  const kind = kinds.find((each) => row.holder.endsWith(`:${each}`)) ?? 'state'
  return { kind, runBy: instanceIn(row.holder) || undefined, fence: row.fence }
}

export const controlRow = ({ kind, runBy = '', fence }: Control): ProcessRow => ({
  id: CONTROL,
  holder: `${runBy}:${kind}`,
  fence,
})

/** A state to import, with the rows that are about the processes that use the storage now in place of its own. */
export function withProcesses(state: State, own: readonly ProcessRow[]): State {
  const others = state.rows[processes.name]?.filter(({ id }) => !isAboutProcesses(String(id))) ?? []
  return { ...state, rows: { ...state.rows, [processes.name]: [...others, ...own] } }
}

const isAboutProcesses = (id: string): boolean => id === CONTROL || id.startsWith(PROCESS)
export const processFeature = { collections: [processes] }
