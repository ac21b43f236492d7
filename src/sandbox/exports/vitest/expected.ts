import { HIDDEN } from '../../../base/text/redacted.js'
import { isText, partsOf, type SchemaPlace } from '../../../http/fields/marks.js'
import { isGenerated } from '../../journal/marked-names.js'
import type { Entry } from '../../onion/entry.js'
import { hasGenerated, shapeOf } from '../../replay/difference.js'
import type { KnownValues } from './known-values.js'
import { patternSource, Source, templateSource } from './source.js'

/** What an answer is compared with. */
export interface Expecting {
  readonly entry: Entry
  /** The schemas of its answer. */
  readonly place: SchemaPlace
  readonly known: KnownValues
  /** Whether a text is in the state that the test begins with, so that it is the same each time. */
  isStored(text: string): boolean
}

/** Operations that tell how far work in the background is, what was counted, or of keys: another in each run. */
const OF_ONE_RUN: ReadonlySet<string> = new Set([
  ...['listWebhookDeliveries', 'redeliverWebhook', 'listDeadLetters'],
  ...['readCoverage', 'rotateOidcKeys', 'linkWallet', 'listWallets'],
  ...['saveNamedState', 'listNamedStates', 'compareNamedStates'],
])

/** An answer as a test expects it: what is stable by its value, ids, times and secrets by their shape. */
export function expectedAnswer(body: unknown, expecting: Expecting): unknown {
  if (OF_ONE_RUN.has(expecting.entry.operation_id ?? '')) return new Source(ANYTHING)
  return expected(body, { name: '', around: '', schemas: expecting.place }, expecting)
}

interface Standing {
  /** The name of the field. For an item of a list, that of the list. */
  readonly name: string
  readonly around: string
  readonly schemas: SchemaPlace
}

function expected(value: unknown, place: Standing, expecting: Expecting): unknown {
  const { name: around } = place
  const schemas = (name: string) => partsOf(place.schemas, name)
  if (Array.isArray(value)) return value.map((each) => expected(each, { ...place, schemas: schemas('') }, expecting))
  if (typeof value === 'string') return expectedText(value, place, expecting)
  if (typeof value === 'number') return expectedNumber(value, place, expecting)
  if (typeof value !== 'object' || value === null) return value
  const part = (name: string, each: unknown) => expected(each, { name, around, schemas: schemas(name) }, expecting)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, part(name, each)]))
}

/** A text of an answer, as a value or a matcher. */
export function expectedText(
  text: string,
  { name, schemas }: Pick<Standing, 'name' | 'schemas'>,
  { entry, known, isStored }: Expecting,
): string | Source {
  // Lists of secrets and numbers are hidden as one text.
  if (text === HIDDEN) return new Source(isText(schemas) ? ANY_TEXT : ANYTHING)
  if (text.includes(HIDDEN)) return matching(shapeOf(text.replaceAll(HIDDEN, MARK)).replaceAll(MARK, '.+'))
  if (name === 'status' && entry.operation_id === 'readOutbox') return new Source(ANY_TEXT)
  // The clock of a test stands still.
  if (name === 'mode' && text === 'real' && entry.path.startsWith('/_sandbox/')) return new Source(ANY_TEXT)
  const [, noun, id] = /^([a-z_]+):(\d+)$/.exec(text) ?? []
  if (noun !== undefined && !isStored(text)) {
    const source = known.number(Number(id), `${noun}_id`)
    return source ? new Source(templateSource([`${noun}:`, source])) : matching(`^${noun}:\\d+$`)
  }
  if ((!isGenerated(schemas, name) && !hasGenerated(text)) || isStored(text)) return text
  const shape = () => (/\d/.test(text) ? matching(shapeOf(text)) : new Source(ANY_TEXT))
  return known.text(text) ?? (isSent(text, entry) ? text : shape())
}

function expectedNumber(value: number, { name, around, schemas }: Standing, { entry, known }: Expecting) {
  if (isTime(value, entry)) return new Source(ANY_NUMBER)
  if (!isGenerated(schemas, name)) return value
  const field = name === 'id' && around !== '' ? `${around.replace(/s$/, '')}_id` : name
  return known.number(value, field) ?? new Source(ANY_NUMBER)
}

const ANY_TEXT = 'expect.any(String)'
const ANY_NUMBER = 'expect.any(Number)'
const ANYTHING = 'expect.anything()'
/** Stands for a secret while the shape of the text around it is made. */
const MARK = '\uE000'
const matching = (shape: string): Source => new Source(`expect.stringMatching(${patternSource(shape)})`)

const isSent = (text: string, { path, request }: Entry): boolean =>
  text.length >= 8 && (`${path} ${request.body ?? ''}`.includes(text) || path.includes(encodeURIComponent(text)))

const YEARS_MS = 20 * 366 * 86_400_000

/** Whether a number is a time in Unix seconds or milliseconds: within twenty years of the request. */
function isTime(value: number, { at }: Entry): boolean {
  const now = Date.parse(at)
  return Number.isInteger(value) && (Math.abs(value - now) < YEARS_MS || Math.abs(value * 1000 - now) < YEARS_MS)
}
