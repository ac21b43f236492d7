import { expect } from 'vitest'
import type { State } from '../../../src/index.js'

const isOnItsWay = (row: object & { status?: unknown; attempts?: unknown; claim?: unknown }): boolean =>
  row.status === 'pending' && (row.attempts === 0 || (row.claim ?? null) !== null)

/** The rows of a state, once no message is on its way and its outcome is recorded. */
export async function settledRows(state: () => Promise<State>): Promise<State['rows']> {
  let rows: State['rows'] = {}
  const onTheirWay = async () => {
    rows = (await state()).rows
    return rows.outbox?.filter(isOnItsWay) ?? []
  }
  await expect.poll(onTheirWay, { interval: 5 }).toEqual([])
  return rows
}
