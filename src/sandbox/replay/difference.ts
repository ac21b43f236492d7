import type { Entry } from '../onion/entry.js'
import { hasGenerated, isGeneratedName, withoutGenerated } from './generated.js'

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

/** Compares two answers as the journal keeps them, without secrets. `strict` ignores nothing. */
export function compareAnswers(was: Answer, is: Answer, { strict = false } = {}): ComparedAnswers {
  const all: Difference[] = []
  collect('', comparedParts(was), comparedParts(is), all)
  if (strict) return { diff: all, ignored: [] }
  const isIgnored = (difference: Difference) => alwaysDiffers(difference)
  return {
    diff: all.filter((each) => !isIgnored(each)),
    ignored: all.filter(isIgnored).map(({ path }) => path),
  }
}

const comparedParts = ({ status, response: { headers, body } }: Answer) => ({ status, headers, body: parsedBody(body) })

function parsedBody(body: string | null): unknown {
  if (body === null) return null
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

function collect(path: string, was: unknown, is: unknown, into: Difference[]): void {
  if (Object.is(was, is)) return
  if (Array.isArray(was) && Array.isArray(is)) {
    for (let at = 0; at < Math.max(was.length, is.length); at++) collect(`${path}[${at}]`, was[at], is[at], into)
  } else if (isRecord(was) && isRecord(is)) {
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)]))
      collect(path === '' ? name : `${path}.${name}`, was[name], is[name], into)
  } else into.push({ path, was: was ?? null, is: is ?? null })
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Headers that say something about one answer only. */
const OF_ONE_ANSWER = /^headers\.(date|x-request-id|x-session-id|set-cookie|etag|content-length|server-timing|age)$/
/** Whether two values differ in every repetition. A value that is absent once, or of another type, never counts. */
function alwaysDiffers({ path, was, is }: Difference): boolean {
  if (OF_ONE_ANSWER.test(path)) return true
  if (was === null || is === null || typeof was !== typeof is) return false
  if (isGeneratedName(path)) return typeof was === 'number' || typeof was === 'string'
  if (typeof was !== 'string' || typeof is !== 'string' || !hasGenerated(was)) return false
  return withoutGenerated(was) === withoutGenerated(is)
}
