import { expect } from 'vitest'
import type { State } from '../../../src/index.js'

const isOnItsWay = (row: object & { status?: unknown; attempts?: unknown; claim?: unknown }): boolean =>
  row.status === 'pending' && (row.attempts === 0 || (row.claim ?? null) !== null)

/** A state, once no message is on its way and its outcome is recorded. */
export async function settledState(state: () => Promise<State>): Promise<State> {
  let settled = await state()
  const onTheirWay = async () => {
    settled = await state()
    return settled.rows.outbox?.filter(isOnItsWay) ?? []
  }
  await expect.poll(onTheirWay, { interval: 5 }).toEqual([])
  return settled
}

/** The rows of such a state. */
export const settledRows = async (state: () => Promise<State>): Promise<State['rows']> =>
  (await settledState(state)).rows
