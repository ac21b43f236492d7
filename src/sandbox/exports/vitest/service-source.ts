import { Problem, problem } from '../../../base/problem.js'
import type { FixedOptions, ServiceContext } from '../../../http/context.js'
import { defaultLimits } from '../../../http/limits.js'
import { isObject } from '../../../storage/unknown.js'
import type { Entry } from '../../onion/entry.js'
import { notReplayable } from '../../replay/call-draft.js'
import { bodyOfAnswer } from './expected.js'
import { Source, textSource, valueSource } from './source.js'

const DEFAULTS = {
  baseUrl: 'http://127.0.0.1:4242',
  twinDomain: 'twin.localhost',
  balances: 'quantity',
  evidence: 'designed',
  accountCreation: true,
  chargeOnUpstreamError: false,
} as const satisfies Partial<ServiceContext & FixedOptions>

/**
 * The code that creates the service of a test, with the options on which the answers depend. `callsWebhooks`: whether its
 * state or its requests have webhooks. Throws `not_replayable`.
 */
export function serviceSource(
  entries: readonly Entry[],
  { callsWebhooks }: { readonly callsWebhooks: boolean },
  service: ServiceContext,
): string[] {
  const answers = entries.flatMap(upstreamAnswers)
  const limits = differing(service.limits, defaultLimits)
  const options = {
    sandbox: true,
    ...differing({ ...service, ...service.options }, DEFAULTS),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...((answers.length > 0 || callsWebhooks) && { upstream: { fetch: upstreamSource(answers) } }),
  }
  return [
    ...(answers.length > 0 ? answersSource(answers) : []),
    ...`const service = createService(${valueSource(options)})`.split('\n'),
  ]
}

/** The settings that are not the default ones. `defaults` names the fields of `given`. */
function differing<T extends object>(given: T, defaults: Partial<T>): object {
  const own = Object.entries(defaults).map(([name, value]) => [name, given[name as keyof T], value] as const)
  return Object.fromEntries(own.flatMap(([name, is, value]) => (is === value ? [] : [[name, is]])))
}

interface UpstreamAnswer {
  readonly call: string
  readonly status: number
  readonly type: string | null
  readonly body: string
}

/** What the endpoint answered that an entry called, as far as its own answer shows it. Throws `not_replayable`. */
function upstreamAnswers(entry: Entry): UpstreamAnswer[] {
  const [call, ...others] = entry.caused.flatMap(({ kind, id }) => (kind === 'upstream' ? [String(id)] : []))
  if (call === undefined) return []
  const shown = others.length === 0 ? shownResponse(bodyOfAnswer(entry)) : undefined
  if (shown) return [{ ...shown, call }]
  const why = 'It called the endpoint of a seller, and its answer does not show what that answered.'
  throw ofEntry(entry, notReplayable('caused', why))
}

function shownResponse(value: unknown): Omit<UpstreamAnswer, 'call'> | undefined {
  if (!isObject(value)) return undefined
  const { response } = value
  if (!isObject(response)) return Object.values(value).map(shownResponse).find(Boolean)
  const { status, content_type: type, body, body_encoding: encoding } = response
  if (typeof status !== 'number' || typeof body !== 'string' || encoding !== undefined) return undefined
  return { status, type: typeof type === 'string' ? type : null, body }
}

/** Webhooks get an answer too. Nobody is called. */
const upstreamSource = (answers: readonly UpstreamAnswer[]): Source =>
  new Source(
    answers.length === 0
      ? 'async () => new Response(null, { status: 204 })'
      : `async ({ method, shownUrl }) =>
      answers.get(\`\${method} \${shownUrl}\`)?.shift() ?? new Response(null, { status: 204 })`,
  )

function answersSource(answers: readonly UpstreamAnswer[]): string[] {
  const calls = new Map<string, string[]>()
  for (const { call, status, type, body } of answers) {
    const init = { status, ...(type !== null && { headers: { 'content-type': type } }) }
    const made = `new Response(${textSource(body)}, ${valueSource(init)})`
    calls.set(call, [...(calls.get(call) ?? []), made])
  }
  const lists = [...calls].map(([call, made]) => `  [${textSource(call)}, [${made.join(', ')}]],`)
  return ['// What the endpoints of sellers answered.', 'const answers = new Map([', ...lists, '])']
}

/** A refusal that names the entry of a range too. */
export function ofEntry({ id }: Entry, refusal: unknown): unknown {
  if (!(refusal instanceof Problem) || refusal.code !== 'not_replayable' || 'id' in refusal.fields) return refusal
  const detail = `${refusal.facts.detail} The entry is ${id}.`
  return problem('not_replayable', { detail, fields: { ...refusal.fields, id }, cause: refusal })
}
