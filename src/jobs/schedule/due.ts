import { isAhead } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import type { Collection, Reader, Writer } from '../../storage/storage.js'
import { Transaction } from '../../storage/transaction.js'

/** Work that waits for a time of the service's clock: a timer, or a message to deliver. */
export interface DueRow {
  readonly id: number
  /** Null while nobody is to try it. */
  readonly due_at: number | null
  /** When `due_at` was set. */
  readonly due_set_at?: number | null
}

/** Where such work waits. Its index `byDueSet` is by `due_set_at`. */
type Waiting<R extends DueRow, I extends string> = Collection<R, I | 'byDueSet'>

/** How many times work may fail before it is a dead letter: messages after three days, timers after about two. */
export const MOST_TRIES = 16
const LONGEST_WAIT_MS = 6 * 3_600_000

/** How long work waits that has failed so many times, without jitter. Later waits are of six hours. */
export const waitAfter = (waits: readonly number[], failures: number): number => waits[failures - 1] ?? LONGEST_WAIT_MS

const REDATED_AT_ONCE = 200

/** Dates work anew that was set before the clock was moved back: it waits as long from now as it was to wait then. */
export async function redate<R extends DueRow, I extends string>(
  work: Waiting<R, I>,
  { storage, clock }: Pick<ServiceContext, 'storage' | 'clock'>,
): Promise<void> {
  const redateSome = async (tx: Writer): Promise<boolean> => {
    const at = clock.now()
    const ahead = await rowsAhead(tx, work, { at, limit: REDATED_AT_ONCE })
    for (const row of ahead) {
      const wait = row.due_at === null ? 0 : Math.max(row.due_at - (row.due_set_at ?? at), 0)
      tx.put(work, { ...row, due_at: at + wait, due_set_at: at })
    }
    return ahead.length === REDATED_AT_ONCE
  }
  while (await storage.write(redateSome));
}

/** Whether `redate` would find any. */
export const isAnyAhead = async <R extends DueRow, I extends string>(tx: Reader, work: Waiting<R, I>, at: number) =>
  (await rowsAhead(tx, work, { at, limit: 1 })).length > 0

async function rowsAhead<R extends DueRow, I extends string>(
  tx: Reader,
  work: Waiting<R, I>,
  { at, limit }: { readonly at: number; readonly limit: number },
): Promise<R[]> {
  const newest = await tx.find(work, { index: 'byDueSet', prefix: [], limit, reverse: true })
  return newest.filter(({ due_set_at }) => isAhead(due_set_at ?? at, at))
}

/** What a piece of work wrote in its part of a transaction, and why it failed, if it did. */
export interface WorkPart<W> {
  readonly work: W
  readonly written: Transaction
  readonly failure: { readonly cause: unknown } | undefined
}

/** Runs each piece of work in its order. What one that throws has written is undone, and nothing of the others. */
export async function runInParts<W>(
  tx: Writer,
  all: Iterable<W> | AsyncIterable<W>,
  run: (part: Transaction, work: W) => Promise<void>,
  onFailure: (tx: Writer, work: W) => Promise<void>,
): Promise<WorkPart<W>[]> {
  const parts: WorkPart<W>[] = []
  for await (const work of all) {
    const written = new Transaction(tx)
    try {
      await run(written, work)
      written.into(tx)
      parts.push({ work, written, failure: undefined })
    } catch (cause) {
      parts.push({ work, written, failure: { cause } })
      await onFailure(tx, work)
    }
  }
  return parts
}

/** How much longer than its wait a retry may be, so that work that failed together is not all tried again together. */
export const MOST_JITTER = 0.25
type Drawing = Pick<ServiceContext, 'random' | 'sandbox'>

/**
 * Returns a function that adds jitter to a wait, in milliseconds: always the same share, so that a body that runs twice
 * gets one result. A stopped clock has no jitter, because every run on it must be the same.
 */
export function drawJitter({ random, sandbox }: Drawing): (ms: number) => number {
  if (sandbox?.clock.mode === 'manual') return (ms) => ms
  const [high = 0, low = 0] = random.bytes(2)
  const share = (MOST_JITTER * (high * 256 + low)) / 65_536
  return (ms) => Math.round(ms * (1 + share))
}
