import { annotationsOf, type Hints, type Json, jsonSchema } from '../../agents/mcp/tools/tool.js'
import { withoutUndefined } from '../../base/json.js'
import { once } from '../../base/memo.js'
import { visibleLine } from '../../base/text/visible.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import type { z } from '../../http/fields/schema.js'
import type { ExampleCall, Explanation } from '../explain/facts/explanation.js'
import { isOfForeignPage } from '../journal/foreign-page.js'
import type { Entry } from '../onion/entry.js'
import type { Replay } from '../replay/replay.js'

export interface SandboxToolAnswer {
  /** A few lines for clients that show their model only text. They name every value that it needs. */
  readonly lines: readonly string[]
  readonly structured: object
}

export interface SandboxTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Json
  readonly annotations: Json
  /** Throws `field_invalid`, which names the argument, and what the control throws. */
  call(args: unknown, service: ServiceContext): Promise<SandboxToolAnswer>
}

/** The lines of a list, or what says that it is empty. */
export const orNone = (lines: readonly string[], none: string): readonly string[] => (lines.length > 0 ? lines : [none])

/** Declares a tool. The schema types its arguments, and refuses unknown ones, because a misspelled one would do nothing. */
export function sandboxTool<I extends z.ZodMiniType>({
  input,
  hints = {},
  call,
  ...words
}: Pick<SandboxTool, 'name' | 'title' | 'description'> & {
  readonly input: I
  readonly hints?: Hints
  call(args: z.output<I>, service: ServiceContext): Promise<SandboxToolAnswer>
}): SandboxTool {
  const schema = once(() => jsonSchema(input))
  return {
    ...words,
    get inputSchema() {
      return schema()
    },
    annotations: annotationsOf(words.title, hints),
    call: async (args, service) => call(checkShape(input, args), service),
  }
}

/** The longest text and list in an answer. A model reads all of it. */
const LONGEST_TEXT = 1000
const LONGEST_LIST = 20
const LONGEST_NAME = 200

/**
 * The answer as it leaves for an agent: texts and names of fields are visible lines, and long texts and lists are cut. If one
 * was, it has `cut`, which says where the rest is.
 */
export function shortened(answer: object): Json {
  let isCut = false
  const shorten = (value: unknown): unknown => {
    if (typeof value === 'string') {
      isCut ||= value.length > LONGEST_TEXT
      return cutText(value, LONGEST_TEXT)
    }
    if (Array.isArray(value)) {
      isCut ||= value.length > LONGEST_LIST
      return value.slice(0, LONGEST_LIST).map(shorten)
    }
    if (typeof value !== 'object' || value === null) return value
    const fields = Object.entries(value).map(([name, each]) => [cutText(name, LONGEST_NAME), shorten(each)])
    return Object.fromEntries(fields)
  }
  const short = Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, shorten(value)]))
  return isCut
    ? { ...short, cut: 'Long texts and lists are cut. The controls under /_sandbox show them whole.' }
    : short
}

export function cutText(text: string, longest: number): string {
  const plain = visibleLine(text)
  return plain.length <= longest ? plain : `${plain.slice(0, longest)}… (${plain.length - longest} more characters)`
}

export const briefEntry = (entry: Entry) => {
  const { id, at, operation_id, method, path, status, code, principal, caused, caused_by, fault } = entry
  const idempotency_key = entry.request.headers['idempotency-key']
  const of = { id, at, operation_id, method, path, status, code, principal, idempotency_key, caused, caused_by, fault }
  return withoutUndefined(of)
}

export const wholeEntry = (entry: Entry) => {
  return { ...briefEntry(entry), request: entry.request.body, response: entry.response.body }
}

/** `402 insufficient_funds`. Nobody answers a timer or a delivery: it is done, or has a code. */
export function outcomeOf({ origin, status, code }: Pick<Entry, 'origin' | 'status' | 'code'>): string {
  if (status !== null) return [status, code].filter(Boolean).join(' ')
  return origin === 'timer' || origin === 'delivery' ? (code ?? 'done') : 'no answer'
}

/** `req_1f_0000012 POST /v4/payment/… → 402 insufficient_funds, by user:2`. */
export function lineOfEntry(entry: Entry): string {
  const { id, method, path, principal } = entry
  const by = principal === null ? '' : `, by ${principal}`
  return `${id} ${method} ${cutText(path, 200)} → ${outcomeOf(entry)}${by}${isOfForeignPage(entry) ? ', from a page of another site' : ''}`
}

/** Answers of the journal as lines of text, for agents and for people. */

export const linesOfEntry = (entry: Entry): string[] => [
  lineOfEntry(entry),
  ...linesOfBodies(entry),
  ...(entry.caused.length === 0 ? [] : [`Caused: ${entry.caused.map(({ kind, id }) => `${kind} ${id}`).join(', ')}`]),
]

/** What was sent and answered. The texts are of others, so they are named as data. */
export const linesOfBodies = ({ request, response }: Entry): string[] => [
  ...(request.body === null ? [] : [`Sent, as data: ${cutText(request.body, 500)}`]),
  ...(response.body === null ? [] : [`Answered, as data: ${cutText(response.body, 500)}`]),
]

/** An explanation without its verdict. */
export function linesOfExplanation({ sentences, fix, docs }: Omit<Explanation, 'entry'>): string[] {
  const [first, ...then] = [fix?.example, fix?.between, fix?.next].flatMap((call) => (call ? lineOfCall(call) : []))
  const calls = first === undefined ? [] : [`To fix it, send ${first}`, ...then.map((call) => `Then send ${call}`)]
  return [...sentences, ...calls, `See ${docs}`]
}

/** `POST /v4/payment/… as user:2 with {"cost":0.5}`. */
function lineOfCall({ method, path, as, headers, body }: ExampleCall): string {
  const given = body === undefined ? '' : ` with ${typeof body === 'string' ? body : JSON.stringify(body)}`
  const sent = headers === undefined ? '' : ` and the headers ${JSON.stringify(headers)}`
  return cutText(`${method} ${path}${as === undefined ? '' : ` as ${as}`}${given}${sent}`, 1000)
}

export function linesOfReplay({ entry, state, diff, effects }: Replay): string[] {
  const counts = effects.counts.filter(({ was, is }) => was !== is)
  return [
    `The repetition got ${outcomeOf(entry)}, on the state ${state === 'before' ? 'before the call' : 'of now'}.`,
    ...(diff?.length === 0 ? ['The answers are the same.'] : []),
    ...(diff ?? []).slice(0, MOST_DIFFERENCES).map(lineOfDifference),
    ...counts.map(({ kind, was, is }) => `${kind}: caused ${was} before, ${is} now`),
    ...(effects.same ? ['Both caused the same.'] : []),
  ]
}

const MOST_DIFFERENCES = 10
const lineOfDifference = ({ path, was, is }: { path: string; was: unknown; is: unknown }): string =>
  cutText(`${path}: was ${JSON.stringify(was)}, is ${JSON.stringify(is)}`, 300)
