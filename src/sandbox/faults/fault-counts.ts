import { type Storage, StorageUnavailable } from '../../storage/storage.js'
import type { Fault, FaultCount } from '../onion/fault.js'
import { keepFaultCounts, keptFaultCounts } from '../settings/settings.js'
import { drawn } from './draw.js'

/** A fault, and what has been counted of it. */
export interface Counted extends FaultCount {
  readonly fault: Pick<Fault, 'times' | 'every' | 'probability' | 'seed'>
  readonly number: number
}

/** Whether a fault has happened as often as it should. */
export const isSpent = ({ fault, fired }: Pick<Counted, 'fault' | 'fired'>): boolean =>
  fired >= (fault.times ?? Number.POSITIVE_INFINITY)

/** The counts after one more match. If `fired` has grown, the fault happens to it. */
export function withMatch({ fault, number, ...counted }: Counted): Pick<FaultCount, 'matched' | 'fired'> {
  const matched = counted.matched + 1
  const turn = matched / (fault.every ?? 1)
  const isDue = Number.isInteger(turn) && !isSpent({ fault, fired: counted.fired })
  const { probability, seed = number } = fault
  const happens = isDue && (probability === undefined || drawn(seed, turn) < probability)
  return { matched, fired: counted.fired + Number(happens) }
}

/** What several processes have counted together. Each match is a small transaction of its own. */
export class SharedCounts {
  constructor(readonly storage: Pick<Storage, 'read' | 'write'>) {}

  read(): Promise<readonly FaultCount[]> {
    return this.storage.read(keptFaultCounts)
  }

  /**
   * Counts a match. Returns the counts before and after it. Undefined if the fault is not armed any more, or not yet, or if
   * the storage fails: then it does not happen.
   */
  async match(armed: Counted): Promise<{ readonly before: FaultCount; readonly after: FaultCount } | undefined> {
    const matching = this.storage.write(async (tx) => {
      const counts = await keptFaultCounts(tx)
      const before = counts.find(({ arming }) => arming === armed.arming)
      if (!before) return undefined
      const counted = { ...armed, ...before }
      if (isSpent(counted)) return { before, after: before }
      const after = { ...before, ...withMatch(counted) }
      keepFaultCounts(
        tx,
        counts.map((count) => (count === before ? after : count)),
      )
      return { before, after }
    })
    return matching.catch((error: unknown) => {
      if (error instanceof StorageUnavailable) return undefined
      throw error
    })
  }
}
