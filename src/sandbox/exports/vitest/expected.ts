import { parsedJson } from '../../../base/json.js'
import { HIDDEN } from '../../../base/text/redacted.js'
import { isText, partsOf, type SchemaPlace } from '../../../http/fields/marks.js'
import { isGenerated } from '../../journal/marked-names.js'
import type { Entry } from '../../onion/entry.js'
import { hasGenerated, shapeOf } from '../../replay/difference.js'
import { fieldSource, patternSource, Source, templateSource } from './source.js'

/** What an answer is compared with. */
interface Expecting {
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

/** A part of an earlier answer. */
interface Answered {
  readonly code: string
  /** The name of its field. For an item of a list, that of the list. */
  readonly name: string
  /** The name of the field around it: empty at the top of an answer. */
  readonly around: string
  readonly value: unknown
  /** `createTwin` */
  readonly operation: string
}

/** The JSON of an answer. Undefined if there is none, or if it is not whole. */
export const bodyOfAnswer = ({ method, response }: Entry): unknown =>
  method === 'HEAD' || response.body === null || response.cut ? undefined : parsedJson(response.body)

/** Numbers from here on are Unix times. */
const LEAST_TIME = 1_000_000_000

/** What the answers of a test have told by now: ids that later requests name, and secrets that only the test sees. */
export class KnownValues {
  readonly #answered: Answered[] = []

  /** Adds an answer. `variable` holds its body. */
  add(variable: string, { operation_id, path, request }: Entry, body: unknown): void {
    const sent = decodedText(`${path} ${request.body ?? ''}`)
    this.#collect(body, { code: variable, name: '', around: '', operation: operation_id ?? '' }, sent)
  }

  #collect(value: unknown, place: Omit<Answered, 'value'>, sent: string): void {
    const { code, name } = place
    if (Array.isArray(value))
      for (const [at, each] of value.entries()) this.#collect(each, { ...place, code: fieldSource(code, at) }, sent)
    else if (typeof value === 'object' && value !== null)
      for (const [field, each] of Object.entries(value))
        this.#collect(each, { ...place, code: fieldSource(code, field), name: field, around: name }, sent)
    else if (typeof value === 'number' || (typeof value === 'string' && (value === HIDDEN || !sent.includes(value))))
      this.#answered.push({ ...place, value })
  }

  /** A generated text, such as a hash. The answer that told it first. */
  text(value: string): Source | undefined {
    if (value.length < 16 || !/[\da-f]{16}|[\da-f]{4}-[\da-f]{12}|(?<=_)[\w-]{16}/i.test(value)) return undefined
    return sourceOf(this.#answered.find((each) => each.value === value))
  }

  /**
   * A number that is the id of something: `field` is `twin_id`. Other things have the same ids, so the names must fit. Also
   * a time that an answer told under the same name.
   */
  number(value: number, field: string): Source | undefined {
    if (value >= LEAST_TIME)
      return sourceOf(this.#answered.findLast((each) => each.value === value && each.name === field))
    const [, noun] = /^(.+)_id$/.exec(field) ?? []
    if (noun === undefined) return undefined
    const camel = noun.replace(/_/g, '').toLowerCase()
    const fits = ({ name, around, operation }: Answered) =>
      name === field ||
      (name === 'id' &&
        (around === noun || around === `${noun}s` || (around === '' && operation.toLowerCase().endsWith(camel))))
    return sourceOf(this.#answered.findLast((each) => each.value === value && fits(each)))
  }

  /** The last secret of this name that an operation told. */
  lastSecret = (name: string, operation: string | null): Source | undefined =>
    sourceOf(this.#secrets(name).findLast((each) => each.operation === operation))

  /** A secret that one answer told. `beside`: the value of another field of the same object. */
  secretBeside(name: string, beside: { readonly name: string; readonly value: unknown }): Source | undefined {
    const isBeside = (each: Answered) => each.name === beside.name && each.value === beside.value
    return sourceOf(this.#secrets(name).find((secret) => this.#besides(secret).some(isBeside)))
  }

  /**
   * A secret of this name that an earlier answer told. Of several, the one that was told beside most of what `entry` sent
   * or got. Undefined if there is none, or if none of several fits better.
   */
  secret(name: string, entry?: Pick<Entry, 'path' | 'request' | 'response'>): Source | undefined {
    const candidates = this.#secrets(name)
    if (candidates.length < 2) return sourceOf(candidates[0])
    const text = entry ? `${entry.path} ${entry.request.body} ${entry.response.body}` : ''
    const isIn = (each: Answered) => text.includes(`"${each.name}":${JSON.stringify(each.value)}`)
    const scores = candidates.map((secret) => this.#besides(secret).filter(isIn).length)
    const best = Math.max(...scores)
    return best === 0 ? undefined : sourceOf(candidates[scores.lastIndexOf(best)])
  }

  #secrets = (name: string): Answered[] => this.#answered.filter((each) => each.name === name && each.value === HIDDEN)

  /** The other fields of the object that a field is in. */
  #besides({ code, name }: Answered): Answered[] {
    const object = code.slice(0, -fieldSource('', name).length)
    return this.#answered.filter((other) => other.name !== name && other.code === fieldSource(object, other.name))
  }
}

const sourceOf = (answered: Answered | undefined): Source | undefined => answered && new Source(answered.code)

function decodedText(text: string): string {
  try {
    return `${text} ${decodeURIComponent(text)}`
  } catch {
    return text
  }
}
