import { digest } from '../../base/secrets.js'
import type { ClockState } from '../../http/context.js'
import { collection, type Reader, type Row, type State, type Writer } from '../../storage/storage.js'
import type { FaultCount, SharedFault } from '../onion/fault.js'

/** Settings that a sandbox stores. */
export type SettingRow =
  | { readonly id: 'clock'; readonly value: ClockState }
  /** SHA-256 of the key that encrypts this state. Shows whether a key belongs to it. */
  | { readonly id: 'key_digest'; readonly value: string }
  /** What makes another key of the one that an option sets. Stored when that is forgotten. */
  | { readonly id: 'key_salt'; readonly value: string }
  /** The faults that are armed in all processes of a shared storage. */
  | { readonly id: 'faults'; readonly value: readonly SharedFault[] }
  /** What all processes have counted of each of these. Apart from them, because it changes often. */
  | { readonly id: 'fault_counts'; readonly value: readonly FaultCount[] }
  /** Names of collections whose rows a migration left unencrypted, because it has no key. */
  | { readonly id: 'clear_rows'; readonly value: readonly string[] }

export const settings = collection<SettingRow>()(
  'settings',
  {},
  {
    secrets: ['value'],
    growth: { by: 'the service', bound: 'One for each setting.' },
    retention: { forever: 'One for each setting.' },
  },
)

/** The key that encrypts a sandbox's state: 64 hex digits. */
export interface ServiceKeyRow {
  readonly id: 'key'
  readonly value: string
}

export const serviceKeys = collection<ServiceKeyRow>()(
  'service_keys',
  {},
  {
    secrets: ['value'],
    growth: { by: 'the service', bound: 'It is one row.' },
    retention: { forever: 'It decrypts the state.' },
  },
)

export const keepClock = (tx: Writer, value: ClockState): void => tx.put(settings, { id: 'clock', value })

export async function keptClock(tx: Reader): Promise<ClockState | undefined> {
  const row = await tx.get(settings, 'clock')
  return row?.id === 'clock' ? row.value : undefined
}

/** Stores which faults are armed. Those that are new count from 0, and the counts of all others end. */
export async function keepFaults(tx: Writer, value: readonly SharedFault[]): Promise<void> {
  const counts = await keptFaultCounts(tx)
  if (value.length === 0 && counts.length === 0 && !(await tx.get(settings, 'faults'))) return
  const countOf = (arming: string) => counts.find((count) => count.arming === arming)
  tx.put(settings, { id: 'faults', value })
  keepFaultCounts(
    tx,
    value.map(({ arming }) => countOf(arming) ?? { arming, matched: 0, fired: 0 }),
  )
}

export async function keptFaults(tx: Reader): Promise<readonly SharedFault[] | undefined> {
  const row = await tx.get(settings, 'faults')
  return row?.id === 'faults' ? row.value : undefined
}

export const keepFaultCounts = (tx: Writer, value: readonly FaultCount[]): void =>
  tx.put(settings, { id: 'fault_counts', value })

export async function keptFaultCounts(tx: Reader): Promise<readonly FaultCount[]> {
  const row = await tx.get(settings, 'fault_counts')
  return row?.id === 'fault_counts' ? row.value : []
}

/** Returns a state without the armed faults, which belong to the processes that use it. */
export function withoutFaults(state: State): State {
  const own = state.rows[settings.name]
  if (!own?.some(isOfFaults)) return state
  return { ...state, rows: { ...state.rows, [settings.name]: own.filter((row) => !isOfFaults(row)) } }
}

/** A state to import, with what the processes that use the storage now have counted of their faults. */
export function withFaultCounts(state: State, value: readonly FaultCount[]): State {
  const { rows } = withoutFaults(state)
  const row: SettingRow = { id: 'fault_counts', value }
  return { ...state, rows: { ...rows, [settings.name]: [...(rows[settings.name] ?? []), row] } }
}

const isOfFaults = ({ id }: Row): boolean => id === 'faults' || id === 'fault_counts'

export function keepKey(tx: Writer, value: string): void {
  tx.put(serviceKeys, { id: 'key', value })
  tx.put(settings, { id: 'key_digest', value: digest(value) })
}

/** Returns the key of this state, and whether the key that encrypted it is missing. */
export async function keptKey(tx: Reader): Promise<{ key: string | undefined; isMissing: boolean }> {
  const key = (await tx.get(serviceKeys, 'key'))?.value
  const sealedBy = await keptKeyDigest(tx)
  return { key, isMissing: sealedBy !== undefined && (key === undefined || digest(key) !== sealedBy) }
}

export const keepKeySalt = (tx: Writer, value: string): void => tx.put(settings, { id: 'key_salt', value })

export async function keptKeySalt(tx: Reader): Promise<string | undefined> {
  const row = await tx.get(settings, 'key_salt')
  return row?.id === 'key_salt' ? row.value : undefined
}

/** Returns a state without its key. */
export function withoutKey(state: State): State {
  const { [serviceKeys.name]: _, ...rows } = state.rows
  return { ...state, rows }
}

/** Returns a state with this key, unless it has its own. */
export function withKey(state: State, value: string | undefined): State {
  const { rows } = state
  if (value === undefined || rows[serviceKeys.name]?.some(({ id }) => id === 'key')) return state
  const key: ServiceKeyRow = { id: 'key', value }
  return { ...state, rows: { ...rows, [serviceKeys.name]: [key] } }
}

async function keptKeyDigest(tx: Reader): Promise<string | undefined> {
  const row = await tx.get(settings, 'key_digest')
  return row?.id === 'key_digest' ? row.value : undefined
}

/** Takes the names of collections whose rows a migration left unencrypted. */
export async function takeClearRows(tx: Writer): Promise<readonly string[]> {
  const row = await tx.get(settings, 'clear_rows')
  if (row?.id !== 'clear_rows') return []
  tx.remove(settings, row.id)
  return row.value
}
