import type { ClockState } from '../context.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'

/** What a sandbox keeps of itself. */
export type SettingRow =
  | { readonly id: 'clock'; readonly value: ClockState }
  /** 64 hex digits. */
  | { readonly id: 'key'; readonly value: string }

export const settings = collection<SettingRow>()('settings', {})

export const keepClock = (tx: Writer, value: ClockState): void => tx.put(settings, { id: 'clock', value })

export const keepKey = (tx: Writer, value: string): void => tx.put(settings, { id: 'key', value })

export const keptClock = (tx: Reader): Promise<ClockState | undefined> => kept(tx, 'clock')

export const keptKey = (tx: Reader): Promise<string | undefined> => kept(tx, 'key')

async function kept<I extends SettingRow['id']>(tx: Reader, id: I) {
  return (await tx.get(settings, id))?.value as Extract<SettingRow, { id: I }>['value'] | undefined
}
