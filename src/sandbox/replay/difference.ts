import { partsOf, type SchemaPlace } from '../../http/fields/marks.js'
import { isGenerated } from '../journal/marked-names.js'
import type { Entry } from '../onion/entry.js'
import { hasGenerated, withoutGenerated } from './generated.js'

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

/** How to compare. */
export interface Comparing {
  /** The schemas of both bodies. */
  readonly place: SchemaPlace
  /** Whether it ignores nothing. */
  readonly strict?: boolean
}

/** Compares two answers as the journal keeps them, without secrets. */
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

/** Where a value stands. */
interface Standing {
  readonly path: string
  /** The name of its field. For an item of a list, that of the list. */
  readonly name: string
  readonly place: SchemaPlace
}

type Found = Difference & Standing

function parsedBody(body: string | null): unknown {
  if (body === null) return null
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

function* differences(was: unknown, is: unknown, at: Standing): Generator<Found> {
  if (Object.is(was, is)) return
  const inside = (name: string) => partsOf(at.place, name)
  if (Array.isArray(was) && Array.isArray(is)) {
    for (let index = 0; index < Math.max(was.length, is.length); index++)
      yield* differences(was[index], is[index], { ...at, path: `${at.path}[${index}]`, place: inside('') })
  } else if (isRecord(was) && isRecord(is)) {
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)]))
      yield* differences(was[name], is[name], { path: `${at.path}.${name}`, name, place: inside(name) })
  } else yield { ...at, was: was ?? null, is: is ?? null }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
