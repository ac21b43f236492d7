import { digest } from '../../base/secrets.js'
import type { ClockState } from '../../http/context.js'
import { collection, type Reader, type Row, type State, type Writer } from '../../storage/storage.js'

/** Settings that a sandbox stores. */
export type SettingRow =
  | { readonly id: 'clock'; readonly value: ClockState }
  /** SHA-256 of the key that encrypts this state. Shows whether a key belongs to it. */
  | { readonly id: 'key_digest'; readonly value: string }
  /** 64 hex digits. Only states from before version 0.2 have it. */
  | { readonly id: 'key'; readonly value: string }

export const settings = collection<SettingRow>()('settings', {})

/** The key that encrypts a sandbox's state: 64 hex digits. */
export interface ServiceKeyRow {
  readonly id: 'key'
  readonly value: string
}

export const serviceKeys = collection<ServiceKeyRow>()('service_keys', {})

export const keepClock = (tx: Writer, value: ClockState): void => tx.put(settings, { id: 'clock', value })

export async function keptClock(tx: Reader): Promise<ClockState | undefined> {
  const row = await tx.get(settings, 'clock')
  return row?.id === 'clock' ? row.value : undefined
}

export function keepKey(tx: Writer, value: string): void {
  tx.put(serviceKeys, { id: 'key', value })
  tx.put(settings, { id: 'key_digest', value: digest(value) })
  tx.remove(settings, 'key')
}

/** Returns the key of this state, and whether the key that encrypted it is missing. */
export async function keptKey(tx: Reader): Promise<{ key: string | undefined; isMissing: boolean }> {
  const key = (await tx.get(serviceKeys, 'key'))?.value ?? (await keptText(tx, 'key'))
  const sealedBy = await keptText(tx, 'key_digest')
  return { key, isMissing: sealedBy !== undefined && (key === undefined || digest(key) !== sealedBy) }
}

/** Returns a state without its key. */
export function withoutKey({ counters, rows }: State): State {
  const { [serviceKeys.name]: _, [settings.name]: own = [], ...others } = rows
  return { counters, rows: { ...others, [settings.name]: own.filter(({ id }) => id !== 'key') } }
}

/** Returns a state with this key, unless it has its own. */
export function withKey(state: State, value: string | undefined): State {
  const { rows } = state
  const isKey = ({ id }: Row) => id === 'key'
  if (value === undefined || [serviceKeys, settings].some(({ name }) => rows[name]?.some(isKey))) return state
  const key: ServiceKeyRow = { id: 'key', value }
  return { ...state, rows: { ...rows, [serviceKeys.name]: [key] } }
}

async function keptText(tx: Reader, id: 'key' | 'key_digest'): Promise<string | undefined> {
  const row = await tx.get(settings, id)
  return row && row.id !== 'clock' ? row.value : undefined
}
