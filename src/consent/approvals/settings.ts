import { recordUserEvent } from '../../identity/users/user.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount, toUnits } from '../../money/ledger/amount.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** What a user's agents may do without an approval. The id is the user's. */
export interface AgentSettingsRow {
  readonly id: number
  /** By digital quantity, in smallest units. A payment up to this amount needs no approval. Default: 0. */
  readonly thresholds: Readonly<Record<string, string>>
}

export const agentSettings = collection<AgentSettingsRow>()(
  'agent_settings',
  {},
  { growth: { by: 'a user', bound: 'One for each user.' }, retention: { forever: 'One for each user.' } },
)

/** The user's threshold in smallest units. Default: 0. */
export async function thresholdOf(tx: Reader, userId: number, dq: string): Promise<bigint> {
  return BigInt((await tx.get(agentSettings, userId))?.thresholds[dq] ?? 0)
}

export type ShownAgentSettings = { approval_threshold: Record<string, number> }

/** The user's thresholds, by digital quantity and in that quantity. */
export async function readAgentSettings(tx: Reader, userId: number): Promise<ShownAgentSettings> {
  const approval_threshold: Record<string, number> = {}
  for (const [dq, units] of Object.entries((await tx.get(agentSettings, userId))?.thresholds ?? {}))
    approval_threshold[dq] = toAmount(units, (await quantityOf(tx, dq)).decimals)
  return { approval_threshold }
}

/** New thresholds, by digital quantity and in that quantity. 0 removes a threshold. Quantities that are not listed keep theirs. */
export type NewThresholds = Readonly<Record<string, number>>

export async function isRaised(tx: Reader, userId: number, thresholds: NewThresholds): Promise<boolean> {
  for (const [dq, units] of await unitsOf(tx, thresholds)) if (units > (await thresholdOf(tx, userId, dq))) return true
  return false
}

/** Stores new thresholds. Throws `dq_unknown`, `amount_invalid`. */
export async function setThresholds(
  tx: Writer,
  userId: number,
  { thresholds, at }: { thresholds: NewThresholds; at: number },
): Promise<ShownAgentSettings> {
  const changed = new Map(Object.entries((await tx.get(agentSettings, userId))?.thresholds ?? {}))
  for (const [dq, units] of await unitsOf(tx, thresholds))
    if (units === 0n) changed.delete(dq)
    else changed.set(dq, String(units))
  tx.put(agentSettings, { id: userId, thresholds: Object.fromEntries(changed) })
  const shown = await readAgentSettings(tx, userId)
  const event = { type: 'approval.threshold_changed', subject: `user:${userId}`, data: { ...shown }, at } as const
  await recordUserEvent(tx, userId, event)
  return shown
}

async function unitsOf(tx: Reader, thresholds: NewThresholds): Promise<[dq: string, units: bigint][]> {
  const units: [string, bigint][] = []
  for (const [dq, amount] of Object.entries(thresholds))
    units.push([dq, toUnits(amount, (await quantityOf(tx, dq)).decimals)])
  return units
}

/** Removes all thresholds of a user. Returns how many there were. */
export async function removeThresholds(tx: Writer, userId: number): Promise<number> {
  const settings = await tx.get(agentSettings, userId)
  if (settings) tx.remove(agentSettings, userId)
  return Object.keys(settings?.thresholds ?? {}).length
}
