import { indexNamed, keyIn } from '../../storage/key.js'
import { DAY, isSwept, keptFor, type Sweeping, type SweptRule } from '../../storage/retention.js'
import type { AnyCollection, Key, Reader, Row, Writer } from '../../storage/storage.js'
import { setTimer, type TimerJob } from '../schedule/timer.js'
import { HOUR, SWEEP } from './sweep-timer.js'
/** About how many rows one transaction of the sweep reads, so that no call waits for it. */
export const SWEEP_ROWS = 300

/** Where the next transaction of a sweep continues. */
interface SweepPlace {
  readonly collection: string
  /** Which prefix of its rule. */
  readonly part: number
  /** The key of the last row that was judged. */
  readonly after?: readonly Key[]
}

interface SweepProgress {
  /** When the sweep was to begin. */
  readonly due: number
  /** When a sweep last removed something, or the first one was planned. */
  readonly since: number
  /** Absent before the first transaction. */
  readonly place?: SweepPlace
  /** The earliest time at which a row that was seen may go. */
  readonly next?: number | undefined
}

/** Of each list of collections: they never change. */
const partsOf = new WeakMap<readonly AnyCollection[], readonly SweepPart[]>()

/**
 * The job that removes the rows whose time is over, by the rules of these collections. Each run is one transaction of
 * a few hundred rows. If rows are left, the next run follows at once.
 */
export const sweepOver = (collections: readonly AnyCollection[]): TimerJob => {
  const parts = partsOf.get(collections) ?? sweepParts(collections)
  partsOf.set(collections, parts)
  return async (tx, subject, service) => {
    const at = service.clock.now()
    const begun: SweepProgress = subject === '' ? { due: at, since: at } : JSON.parse(subject)
    // A clock that jumped may be corrected. Nothing that is still valid then must be gone.
    if (!begun.place && at - begun.due > DAY)
      return void (await planSweep(tx, { since: begun.since, due: at + HOUR }, at))
    const { instance, ongoing, storage, limits } = service
    const sweeping = { instance, ongoing, storage, limits, at }
    const { removed, place, next } = await sweepPiece(tx, parts, begun, sweeping)
    const since = removed.size > 0 ? at : Math.min(begun.since, at)
    const due = place ? begun.due : nextDue(at, since, next)
    await planSweep(tx, place ? { due, since, place, next } : { due, since }, at)
  }
}

/**
 * The next sweep comes when the next row may go, but an hour later at least and a day later at most. After a long time
 * in which nothing went, it may come later, so that a clock that is moved by years causes few sweeps.
 */
function nextDue(at: number, since: number, next = Number.POSITIVE_INFINITY): number {
  const longest = Math.max(DAY, Math.floor((at - since) / 16))
  return Math.min(Math.max(next, at + HOUR), at + longest)
}

/** Continues at once, or at `due` if it has no place. */
const planSweep = (tx: Writer, progress: SweepProgress, now: number) =>
  setTimer(tx, { kind: SWEEP, subject: JSON.stringify(progress), at: progress.place ? now : progress.due, now })

/** What one transaction of a sweep did. */
export interface SweptPiece {
  /** How many rows it removed, by collection, without what belonged to them. */
  readonly removed: ReadonlyMap<string, number>
  /** Where the next transaction continues. Undefined at the end. */
  readonly place?: SweepPlace
  readonly next: number | undefined
}

/** Removes rows until about `SWEEP_ROWS` were read. */
export async function sweepPiece(
  tx: Writer,
  parts: readonly SweepPart[],
  { place: from, next: known }: Pick<SweepProgress, 'place' | 'next'>,
  sweeping: Sweeping,
): Promise<SweptPiece> {
  const removed = new Map<string, number>()
  let next = known
  let left = SWEEP_ROWS
  const begin = from ? parts.findIndex(({ place }) => isSamePart(place, from)) : 0
  for (let at = Math.max(begin, 0); at < parts.length; at++) {
    const part = parts[at] as SweepPart
    const { collection, place } = part
    const seen = await sweepPart(tx, part, { after: at === begin ? from?.after : undefined, left }, sweeping)
    if (!seen) continue
    left -= seen.read
    if (seen.removed > 0) removed.set(collection.name, (removed.get(collection.name) ?? 0) + seen.removed)
    if (seen.next !== undefined) next = Math.min(next ?? seen.next, seen.next)
    const rest = seen.after ? { ...place, after: seen.after } : left > 0 ? undefined : placeAfter(parts, place)
    if (rest) return { removed, place: rest, next }
  }
  return { removed, next }
}

/** A collection that is swept, or a part of it that its rule names. */
interface SweepPart {
  readonly collection: AnyCollection
  readonly rule: SweptRule<Row>
  readonly prefix: readonly Key[]
  readonly place: SweepPlace
}

const sweepParts = (collections: readonly AnyCollection[]): SweepPart[] =>
  collections.flatMap((collection) => {
    const rule = collection.retention
    if (!isSwept(rule)) return []
    const { prefixes = [[]] } = rule
    return prefixes.map((prefix, part) => ({ collection, rule, prefix, place: { collection: collection.name, part } }))
  })

const isSamePart = (a: SweepPlace, b: SweepPlace): boolean => a.collection === b.collection && a.part === b.part

const placeAfter = (parts: readonly SweepPart[], place: SweepPlace): SweepPlace | undefined =>
  parts[parts.findIndex((part) => isSamePart(part.place, place)) + 1]?.place

/** Undefined if it has no rows. Most have none, and a clock that moves by a month sweeps thirty times. */
async function sweepPart(
  tx: Writer,
  { collection, rule, prefix }: SweepPart,
  { after, left }: { readonly after: SweepPlace['after']; readonly left: number },
  sweeping: Sweeping,
) {
  const most = rule.belongings?.most ?? 0
  const limit = Math.max(1, Math.min(Math.floor(left / (1 + most)), rule.rowsAtOnce ?? left))
  const rows = await tx.find(collection, { index: rule.index, prefix, limit, ...(after && { after }) })
  if (rows.length === 0) return undefined
  const { over, next } = await judge(tx, { collection, rule, prefix }, rows, sweeping)
  for (const row of over) {
    await rule.belongings?.remove(tx, row)
    tx.remove(collection, row.id)
  }
  const last = rows.at(-1)
  const isWhole = next !== undefined || rows.length < limit || !last
  return {
    read: rows.length + over.length * most,
    removed: over.length,
    next,
    // Rows after the last one may be over too.
    after: isWhole ? undefined : keyIn(indexNamed(collection, rule.index), last),
  }
}

type Judging = Omit<SweepPart, 'place'>

/** Returns the rows to remove, and when the first row goes that is still kept. The rows after that one go later. */
async function judge(tx: Reader, { collection, rule, prefix }: Judging, rows: readonly Row[], sweeping: Sweeping) {
  const { at, limits } = sweeping
  const kept = keptFor(rule, limits)
  const ends = rule.endsOf ? await rule.endsOf(tx, rows) : rows.map((row) => endIn(collection, { rule, prefix }, row))
  const newest = rule.mostRows || rule.keepsNewest ? await newestIdOf(tx, collection) : undefined
  const surplus = rule.mostRows && newest !== undefined ? newest - limits[rule.mostRows] : Number.NEGATIVE_INFINITY
  const due: Row[] = []
  let next: number | undefined
  for (const [i, row] of rows.entries()) {
    const end = ends[i]
    const isSurplus = typeof row.id === 'number' && row.id <= surplus
    // In the order of the ids, a row from before a clock was set back may be in front of older ones.
    if (!isSurplus && (end === undefined || (rule.index === 'id' && end > at))) continue
    if (!isSurplus && end !== undefined && end + kept > at) {
      next = end + kept
      break
    }
    due.push(row)
  }
  const spared = due.length > 0 ? await rule.spared?.(tx, due, sweeping) : undefined
  const stays = ({ id }: Row) => spared?.has(id) || (rule.keepsNewest && id === newest)
  return { over: due.filter((row) => !stays(row)), next }
}

/** The highest id of a collection whose ids are numbers. */
async function newestIdOf(tx: Reader, collection: AnyCollection): Promise<number | undefined> {
  const [newest] = await tx.find(collection, { index: 'id', prefix: [], limit: 1, reverse: true })
  return typeof newest?.id === 'number' ? newest.id : undefined
}

/** The time of a row's end: the field of the index after the prefix. */
function endIn(collection: AnyCollection, { rule, prefix }: Omit<Judging, 'collection'>, row: Row): number | undefined {
  const end = keyIn(indexNamed(collection, rule.index), row)[prefix.length]
  return typeof end === 'number' ? end : undefined
}
