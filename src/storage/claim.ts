import type { Random } from '../base/ports.js'
import { randomHex } from '../base/secrets.js'
import type { Reader, Storage } from './storage.js'

/** A process that claims rows. `ongoing`: the claims on which it works. */
export interface Claimant {
  readonly instance: string
  readonly ongoing: ReadonlyMap<string, unknown>
  readonly storage: Pick<Storage, 'exclusive' | 'presence'>
}

/** The claim of a row that someone works on: its holder, `:`, and a fence of its own. Only who has it may write the outcome. */
export const newClaim = ({ instance, random }: { readonly instance: string; readonly random: Random }): string =>
  `${instance}:${randomHex(random, 16)}`

/** The instance name of the process that holds a claim. */
export const instanceIn = (claim: string): string => claim.split(':', 1)[0] ?? ''

/** Whether a process works on what this claim is on. A claim of an ended process is free, and so is one whose work here has ended. */
export async function isHeld(tx: Reader, claim: string | null | undefined, { instance, ongoing, storage }: Claimant) {
  if (claim === null || claim === undefined) return false
  const holder = instanceIn(claim)
  if (holder === instance) return ongoing.has(claim)
  return !storage.exclusive && (await storage.presence?.isAlive(holder, tx)) !== false
}
