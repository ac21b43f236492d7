import { parsedJson } from '../../../base/json.js'
import { HIDDEN } from '../../../base/text/redacted.js'
import type { Entry } from '../../onion/entry.js'
import { fieldSource, Source } from './source.js'

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
