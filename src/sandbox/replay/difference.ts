import { parsedJson } from '../../base/json.js'
import { partsOf, type SchemaPlace } from '../../http/fields/marks.js'
import { digitalQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { movements } from '../../money/ledger/movement.js'
import type { Reader } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import { isGenerated } from '../journal/marked-names.js'
import type { EffectKind, Entry } from '../onion/entry.js'

/** A part of an answer that differs. Undefined in neither: a missing part is null. */
export interface Difference {
  /** `status`, `headers.location`, `body.twins[0].balances` */
  readonly path: string
  readonly was: unknown
  readonly is: unknown
}

export interface ComparedAnswers {
  readonly diff: Difference[]
  /** The paths of what differs as in every repetition: ids, times, nonces and generated names. */
  readonly ignored: string[]
}

type Answer = Pick<Entry, 'status' | 'response'>

export interface Comparing {
  readonly place: SchemaPlace
  readonly strict?: boolean
}

export function compareAnswers(was: Answer, is: Answer, { place, strict = false }: Comparing): ComparedAnswers {
  const [one, other] = [was.response, is.response]
  const found = [
    ...differences(was.status, is.status, { path: 'status', name: 'status', place: [] }),
    ...differences(one.headers, other.headers, { path: 'headers', name: 'headers', place: [] }),
    ...differences(parsedBody(one.body), parsedBody(other.body), { path: 'body', name: 'body', place }),
  ]
  const isIgnored = (each: Found) => !strict && alwaysDiffers(each)
  return {
    diff: found.filter((each) => !isIgnored(each)).map(({ path, was, is }) => ({ path, was, is })),
    ignored: found.filter(isIgnored).map(({ path }) => path),
  }
}

interface Standing {
  readonly path: string
  /** The name of its field. For an item of a list, that of the list. */
  readonly name: string
  readonly place: SchemaPlace
}

type Found = Difference & Standing

function parsedBody(body: string | null): unknown {
  const value = body === null ? null : parsedJson(body)
  return value === undefined ? body : value
}

function* differences(was: unknown, is: unknown, at: Standing): Generator<Found> {
  if (Object.is(was, is)) return
  const inside = (name: string) => partsOf(at.place, name)
  if (Array.isArray(was) && Array.isArray(is)) {
    for (let index = 0; index < Math.max(was.length, is.length); index++)
      yield* differences(was[index], is[index], { ...at, path: `${at.path}[${index}]`, place: inside('') })
  } else if (isObject(was) && isObject(is)) {
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)]))
      yield* differences(was[name], is[name], { path: `${at.path}.${name}`, name, place: inside(name) })
  } else yield { ...at, was: was ?? null, is: is ?? null }
}

/** Headers that say something about one answer only. */
const OF_ONE_ANSWER = /^headers\.(date|x-request-id|x-session-id|set-cookie|etag|content-length|server-timing|age)$/
/** Whether two values differ in every repetition. A value that is absent once, or of another type, never counts. */
function alwaysDiffers({ path, name, place, was, is }: Found): boolean {
  if (OF_ONE_ANSWER.test(path)) return true
  if (was === null || is === null || typeof was !== typeof is) return false
  if (isGenerated(place, name)) return typeof was === 'number' || typeof was === 'string'
  if (typeof was !== 'string' || typeof is !== 'string' || !hasGenerated(was)) return false
  return withoutGenerated(was) === withoutGenerated(is)
}

/** What is generated within texts, such as addresses and sentences. A mark says it of a whole field. */

const TIME = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`
const UUID = String.raw`[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}`
/** Parts of texts that are generated: ids, times, and the numbers between them. */
const GENERATED = new RegExp(String.raw`${TIME}|${UUID}|[\da-f]{16,}|(?<=_)[\w-]{16,}|\d+`, 'gi')
const HAS_LONG_ID = /[\da-f]{16}|[\da-f]{8}-[\da-f]{4}-|\d{4}-\d\d-\d\dT/i
/** Whether a text has an id or a time in it that is too long to be something else. */
export const hasGenerated = (text: string): boolean => HAS_LONG_ID.test(text)
/** A text without its generated parts. Texts of one shape have the same rest. */
export const withoutGenerated = (text: string): string => text.replace(GENERATED, '#')

export function shapeOf(text: string): string {
  let shape = ''
  let end = 0
  for (const found of text.matchAll(GENERATED)) {
    shape += escaped(text.slice(end, found.index)) + shapeOfPart(found[0])
    end = found.index + found[0].length
  }
  return `^${shape}${escaped(text.slice(end))}$`
}

function shapeOfPart(part: string): string {
  if (new RegExp(`^${TIME}$`).test(part)) return TIME
  if (new RegExp(`^${UUID}$`, 'i').test(part)) return '[\\da-f-]{36}'
  if (/^\d+$/.test(part)) return '\\d+'
  return /^[\da-f]+$/i.test(part) ? `[\\da-f]{${part.length}}` : '[\\w-]+'
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** A movement that a request caused. */
export interface CausedMovement {
  /** `payment` and so on. */
  readonly kind: string
  /** Of the digital quantity, with decimals. */
  readonly amount: number
  readonly dq: string
}

/** How often a request and its repetition caused effects of one kind. */
export interface EffectCount {
  readonly kind: EffectKind
  readonly was: number
  readonly is: number
}

/** What a request and its repetition caused. */
export interface ComparedEffects {
  /** Whether both caused the same. */
  readonly same: boolean
  readonly counts: EffectCount[]
  /** `was` is null if the state no longer has the movements. */
  readonly movements: { readonly was: CausedMovement[] | null; readonly is: CausedMovement[] }
}

/** Deliveries and timers that follow from a request run later, so they are not compared. */
const LATER: ReadonlySet<EffectKind> = new Set(['entry'])

type Caused = Pick<Entry, 'caused'>

export function compareEffects(
  was: Caused & { readonly movements: CausedMovement[] | null },
  is: Caused & { readonly movements: CausedMovement[] },
): ComparedEffects {
  const kinds = new Set([...was.caused, ...is.caused].map(({ kind }) => kind).filter((kind) => !LATER.has(kind)))
  const count = ({ caused }: Caused, kind: EffectKind) => caused.filter((effect) => effect.kind === kind).length
  const counts = [...kinds].map((kind) => ({ kind, was: count(was, kind), is: count(is, kind) }))
  const moved = { was: was.movements, is: is.movements }
  const sameMoves = moved.was === null || JSON.stringify(moved.was) === JSON.stringify(moved.is)
  return { same: sameMoves && counts.every((each) => each.was === each.is), counts, movements: moved }
}

/** The movements of an entry. Null if the state no longer has one of them. */
export async function movementsOf(tx: Reader, { caused }: Caused): Promise<CausedMovement[] | null> {
  const found: CausedMovement[] = []
  for (const { kind, id } of caused) {
    if (kind !== 'movement') continue
    const row = typeof id === 'number' ? await tx.get(movements, id) : undefined
    const quantity = row && (await tx.get(digitalQuantities, row.dq))
    if (!row || !quantity) return null
    found.push({ kind: row.kind, amount: toAmount(row.amount, quantity.decimals), dq: row.dq })
  }
  return found
}
