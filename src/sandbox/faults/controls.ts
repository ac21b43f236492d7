import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { sandboxOf } from '../onion/context.js'
import type { ArmedFault, Fault, FaultEngine } from '../onion/fault.js'
import { keptFaults } from '../settings/settings.js'
import { FaultShape } from './fault-shape.js'

/**
 * Failures on purpose. A snapshot holds none, and a reset arms those of the seed alone. Processes that share a storage have
 * the same ones armed, and count `times`, `every` and `fired` together.
 */
export interface FaultControls {
  /**
   * Arms a fault: `await sandbox.faults.arm({ match: { port: 'mail' }, at: 'before', do: { drop: true }, times: 1 })`.
   * Throws `field_invalid`, which names the field, and `already_exists`.
   */
  arm(fault: Fault): Promise<ArmedFault>
  /** Returns the armed faults, and how often each has happened. */
  list(): Promise<ArmedFault[]>
  /** Disarms the fault with this id. Throws `not_found`. */
  disarm(id: string): Promise<void>
  /** Disarms all of them. */
  clear(): Promise<void>
}

export function faultControls({ sandbox, background }: Pick<ServiceContext, 'sandbox' | 'background'>): FaultControls {
  const loadEngine = () => sandboxOf({ sandbox }).faults.load()
  /** All processes learn of it. */
  const change = async <T>(how: (engine: FaultEngine) => Promise<T>): Promise<T> => {
    const engine = await loadEngine()
    return background.share(() => how(engine))
  }
  return {
    async arm(fault) {
      const given = checkShape(FaultShape, fault)
      return change(async (engine) => required((await engine.prepare([given])).arm()[0], 'the armed fault'))
    },
    list: async () => (await loadEngine()).list(),
    disarm: (id) => change(async (engine) => engine.disarm(id)),
    clear: () => change(async (engine) => engine.clear()),
  }
}

/** Arms what the other processes of a shared storage have armed, or else the faults of the seed, in all of them. */
export async function armAtStart(
  armSeed: (() => void) | undefined,
  { sandbox, storage, background }: Pick<ServiceContext, 'sandbox' | 'storage' | 'background'>,
): Promise<void> {
  if (!storage.isShared) return armSeed?.()
  const arm = async () => {
    const kept = await storage.read(keptFaults)
    if (kept) await sandboxOf({ sandbox }).faults.follow(kept)
    else armSeed?.()
  }
  // Two processes may start at once. One of them arms, and the other follows.
  if (armSeed && !(await storage.read(keptFaults))) await background.share(arm)
  else await arm()
}

/** Does something, and then arms faults that are checked before it. If it rejects, none is armed. */
export async function thenArm<T>(
  given: readonly Fault[] | undefined,
  { sandbox, background }: Pick<ServiceContext, 'sandbox' | 'background'>,
  act: () => Promise<T>,
): Promise<T> {
  if (!given || given.length === 0) return act()
  const prepared = await (await sandboxOf({ sandbox }).faults.load()).prepare(given, 'faults')
  try {
    const value = await act()
    await background.share(async () => prepared.arm())
    return value
  } catch (error) {
    prepared.cancel()
    throw error
  }
}
