import { digest, keyring } from '../../base/secrets.js'
import type { ClockState, ServiceContext } from '../../http/context.js'
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

/** Where the clock of a sandbox begins. */
export const REAL_TIME = { mode: 'real', ms: 0 } as const

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

export const settingsFeature = { collections: [settings, serviceKeys] }

type Value<I extends SettingRow['id']> = Extract<SettingRow, { id: I }>['value']

const kept = async <I extends SettingRow['id']>(tx: Reader, id: I): Promise<Value<I> | undefined> =>
  (await tx.get(settings, id))?.value as Value<I> | undefined // A row has the value of its id.

export const keptClock = (tx: Reader) => kept(tx, 'clock')
export const keptFaults = (tx: Reader) => kept(tx, 'faults')
export const keptFaultCounts = async (tx: Reader) => (await kept(tx, 'fault_counts')) ?? []
export const keptKeySalt = (tx: Reader) => kept(tx, 'key_salt')
export const keepClock = (tx: Writer, value: ClockState): void => tx.put(settings, { id: 'clock', value })

/** Stores which faults are armed. Those that are new count from 0, and the counts of all others end. */
export async function keepFaults(tx: Writer, value: readonly SharedFault[]): Promise<void> {
  const counts = await keptFaultCounts(tx)
  if (value.length === 0 && counts.length === 0 && !(await keptFaults(tx))) return
  const countOf = (arming: string) => counts.find((count) => count.arming === arming)
  tx.put(settings, { id: 'faults', value })
  const kept = value.map(({ arming }) => countOf(arming) ?? { arming, matched: 0, fired: 0 })
  keepFaultCounts(tx, kept)
}

export const keepFaultCounts = (tx: Writer, value: readonly FaultCount[]): void =>
  tx.put(settings, { id: 'fault_counts', value })

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
  const sealedBy = await kept(tx, 'key_digest')
  return { key, isMissing: sealedBy !== undefined && (key === undefined || digest(key) !== sealedBy) }
}

export const keepKeySalt = (tx: Writer, value: string): void => tx.put(settings, { id: 'key_salt', value })

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

/** Takes the names of collections whose rows a migration left unencrypted. */
export async function takeClearRows(tx: Writer): Promise<readonly string[]> {
  const row = await tx.get(settings, 'clear_rows')
  if (row?.id !== 'clear_rows') return []
  tx.remove(settings, row.id)
  return row.value
}

/**
 * Takes the key of the state, if it has one. The parent of a fork may have another one than its state had in the past, or
 * than it had when it was forked, and a different process may have changed it.
 */
export async function takeKey(service: ServiceContext): Promise<void> {
  const own = await service.storage.read((tx) => keysOf(tx, service))
  // The keyring of the parent remembers what it has derived.
  if (own && own.deriveUuid('fork', '') !== service.keys.deriveUuid('fork', '')) service.stateKey.change(own)
}

/**
 * Returns the keys of a state: by the key that it stores, or by the one that an option sets. Once that is forgotten, by one
 * that is derived from it, which all processes with the option derive alike.
 */
export async function keysOf(tx: Reader, { stateKey: { given }, random }: Pick<ServiceContext, 'stateKey' | 'random'>) {
  if (given) {
    const salt = await keptKeySalt(tx)
    return salt === undefined ? given : keyring(given.derive('forgotten', salt), random)
  }
  const { key } = await keptKey(tx)
  return key === undefined ? undefined : keyring(key, random)
}
