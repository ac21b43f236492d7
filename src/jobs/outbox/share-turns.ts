import type { OutboxRow } from '../../base/message.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { outbox } from './outbox.js'
import { dueAgain } from './queue.js'
import { nameOf, type Sharer, type Shares, sharerOf } from './shares.js'

/** How many owners and hosts one transaction looks at that wait for a place. */
const MOST_LOOKED_AT = 16

const ALL = 'turn:'
const prefixOf = (lane: string): string => `${ALL}${lane} `

/** The queue in which messages of a lane wait until their owner may take another place. */
export const turnOf = (lane: string, sharer: Sharer): string => `${prefixOf(lane)}${nameOf(sharer)}`

/** Whether any message waits for a place of its owner's. */
export const findWhetherTurnsWait = async (tx: Reader): Promise<boolean> =>
  (await firstAfter(tx, ALL, ALL)) !== undefined

/** Whether messages of this owner and host wait for a place. */
export const isTurnWaiting = async (tx: Reader, lane: string, sharer: Sharer): Promise<boolean> =>
  (await tx.find(outbox, { index: 'byWaiting', prefix: [turnOf(lane, sharer)], limit: 1 })).length > 0

/** An owner and host for whom messages wait. */
export interface WaitingTurn {
  readonly turn: string
  readonly sharer: Sharer
}

/**
 * Those for whom messages of a lane wait and who may take a place: who has the fewest first. Begins after the turn
 * `after`, so that in the end all are looked at. Returns also the turn that was looked at last.
 */
export async function findTurns(
  tx: Reader,
  lane: string,
  { shares, after }: { readonly shares: Shares; readonly after: string },
): Promise<{ readonly turns: readonly WaitingTurn[]; readonly last: string }> {
  const found = new Map<string, Sharer>()
  const prefix = prefixOf(lane)
  let last = after.startsWith(prefix) ? after : prefix
  for (let looked = 0; looked < MOST_LOOKED_AT; looked++) {
    const row = (await firstAfter(tx, prefix, last)) ?? (await firstAfter(tx, prefix, prefix))
    const turn = row?.queued_in
    if (!row || turn === undefined || found.has(turn)) break
    found.set(turn, sharerOf(row))
    last = turn
  }
  const turns = [...found].map(([turn, sharer]) => ({ turn, sharer })).filter(({ sharer }) => shares.mayTake(sharer))
  return { turns: turns.sort((a, b) => shares.of(a.sharer) - shares.of(b.sharer)), last }
}

/** The message that waits longest in the first turn after this one. */
async function firstAfter(tx: Reader, prefix: string, turn: string): Promise<OutboxRow | undefined> {
  const after = [turn, Number.MAX_VALUE, 0]
  const [row] = await tx.find(outbox, { index: 'byWaiting', prefix: [], after, limit: 1 })
  return row?.queued_in?.startsWith(prefix) ? row : undefined
}

/** How many messages one transaction makes due again. */
const CALLED_AT_ONCE = 200

/**
 * Makes messages due again that wait for a place of their owner's, as they were before. Returns whether there may be
 * more.
 */
export async function endTurns(tx: Writer, at: number): Promise<boolean> {
  const query = { index: 'byWaiting', prefix: [], after: [ALL, Number.MAX_VALUE, 0], limit: CALLED_AT_ONCE } as const
  const waiting = (await tx.find(outbox, query)).filter(({ queued_in }) => queued_in?.startsWith(ALL))
  for (const message of waiting) tx.put(outbox, dueAgain(message, at))
  return waiting.length === CALLED_AT_ONCE
}

/** The messages of a turn that wait longest. */
export const messagesOf = (tx: Reader, turn: string, limit: number): Promise<OutboxRow[]> =>
  tx.find(outbox, { index: 'byWaiting', prefix: [turn], limit })
