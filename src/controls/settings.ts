import type { ClockState } from '../context.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'

/** What a sandbox keeps of itself. */
export interface SettingRow {
  readonly id: 'clock'
  readonly value: ClockState
}

export const settings = collection<SettingRow>()('settings', {})

export const keepClock = (tx: Writer, value: ClockState): void => tx.put(settings, { id: 'clock', value })

export const keptClock = async (tx: Reader): Promise<ClockState | undefined> => (await tx.get(settings, 'clock'))?.value
