import { component, strictComponent, Time, timeOf, z } from '../../http/fields/schema.js'
import type { Fault, FaultPoint, FaultPort, X402Mode } from '../onion/fault.js'
import { PrincipalName } from '../onion/principal-name.js'

const ports = ['storage', 'mail', 'push', 'card', 'upstream', 'webhook'] as const satisfies readonly FaultPort[]
const points = ['before', 'after_commit', 'mid_body'] as const satisfies readonly FaultPoint[]
const x402Modes = [
  ...(['success_false', 'settlement_pending', 'settlement_pending_always'] as const),
  ...(['wrong_payer', 'other_receipt', 'late', 'expensive_offer'] as const),
] as const satisfies readonly X402Mode[]
const count = z.int().check(z.minimum(1))
const LONGEST_DELAY_MS = 3_600_000

const FaultActionShape = strictComponent('FaultAction', {
  status: z.optional(z.int().check(z.minimum(200), z.maximum(599))),
  body: z.optional(z.unknown()),
  retry_after: z.optional(z.int().check(z.minimum(0))),
  delay_ms: z.optional(z.int().check(z.minimum(0), z.maximum(LONGEST_DELAY_MS))),
  drop: z.optional(z.literal(true)),
  duplicate: z.optional(z.literal(true)),
  truncate: z.optional(count),
  drip: z.optional(count),
  raise_price: z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
  x402: z.optional(z.enum(x402Modes)),
  error: z.optional(z.string().check(z.regex(/^\w{1,64}$/, 'a code such as ENOSPC or ECONNRESET'))),
})

export const actions = [
  'status',
  'delay_ms',
  'drop',
  'duplicate',
  'truncate',
  'drip',
  'raise_price',
  'x402',
  'error',
] as const

export type ActionName = (typeof actions)[number]

const FaultMatchShape = strictComponent('FaultMatch', {
  operation_id: z.optional(z.string().check(z.minLength(1))),
  method: z.optional(z.enum(['GET', 'POST', 'PUT', 'DELETE'])),
  path: z.optional(z.string().check(z.regex(/^[/*][^?#]*$/, 'a path such as /v4/payment/*, without a query'))),
  principal: z.optional(PrincipalName),
  port: z.optional(z.enum(ports)),
})

const fields = {
  id: z.optional(z.string().check(z.regex(/^[\w.-]{1,64}$/, '1 to 64 letters, digits, "_", "." or "-"'))),
  match: FaultMatchShape,
  at: z.enum(points),
  do: FaultActionShape,
  times: z.optional(count),
  every: z.optional(count),
  probability: z.optional(z.number().check(z.minimum(0), z.maximum(1))),
  seed: z.optional(z.int()),
  until: z.optional(Time),
}

/** A fault that a test arms. Combinations that could never happen are refused. */
export const FaultShape = strictComponent('Fault', fields, (checked) => {
  const wrong = whyImpossible(checked.value)
  if (wrong) checked.issues.push({ code: 'custom', input: checked.value, path: [...wrong.path], message: wrong.must })
})

export const ArmedFaultShape = component('ArmedFault', { ...fields, id: z.TextId, fired: z.int() })
export const storageErrors = ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS'] as const

const works: Readonly<Record<'request' | FaultPort, Readonly<Partial<Record<FaultPoint, readonly ActionName[]>>>>> = {
  request: {
    before: ['status', 'delay_ms', 'drop', 'raise_price'],
    after_commit: ['status', 'delay_ms', 'drop', 'duplicate', 'x402'],
    mid_body: ['truncate', 'drip', 'delay_ms', 'drop'],
  },
  storage: { before: ['error', 'delay_ms'], after_commit: ['error', 'delay_ms'] },
  ...samePort(['mail', 'push', 'card'], []),
  ...samePort(['upstream', 'webhook'], ['status']),
}

function samePort<P extends FaultPort>(names: readonly P[], more: readonly ActionName[]) {
  const before: readonly ActionName[] = ['error', 'drop', 'delay_ms', ...more]
  const worksThere = { before, after_commit: [...before, 'duplicate'] as const }
  return Object.fromEntries(names.map((name) => [name, worksThere])) as Record<P, typeof worksThere> // one for each name
}

interface Misfit {
  readonly path: readonly string[]
  /** Completes "must be …". */
  readonly must: string
}

/** Why a fault could never happen as it is written. Undefined if it can. */
export function whyImpossible({ match, at, do: action, probability, seed, until }: Fault): Misfit | undefined {
  const given = actions.filter((name) => action[name] !== undefined)
  const [name] = given
  if (name === undefined || given.length > 1) return { path: ['do'], must: `exactly one of ${enumerated(actions)}` }
  const extra = (['body', 'retry_after'] as const).find((each) => action[each] !== undefined)
  if (extra && name !== 'status') return { path: ['do', extra], must: 'sent with "status"' }
  if (seed !== undefined && probability === undefined) return { path: ['seed'], must: 'sent with "probability"' }
  if (until !== undefined && !isTime(until)) return { path: ['until'], must: 'Unix seconds or an ISO 8601 date-time' }
  return misplaced(match) ?? misfitAt(match.port, at, name, action)
}

/** Calls of ports belong to no request that a fault could name: most happen in the background. */
function misplaced(match: Fault['match']): Misfit | undefined {
  const { port } = match
  if (port === undefined) return undefined
  const taken = port === 'upstream' || port === 'webhook' ? ['method', 'path'] : []
  const wrong = (['operation_id', 'principal', 'method', 'path'] as const).find(
    (field) => match[field] !== undefined && !taken.includes(field),
  )
  if (wrong === undefined) return undefined
  const works = taken.length === 0 ? 'alone' : 'with only "method" and "path" of the called URL'
  return { path: ['match', wrong], must: `left out: the port "${port}" is matched ${works}` }
}

function misfitAt(port: FaultPort | undefined, at: FaultPoint, name: ActionName, { error }: Fault['do']) {
  const place = works[port ?? 'request']
  const what = port === undefined ? 'a request' : `the port "${port}"`
  if (place[at]?.includes(name)) {
    const isKnown = port !== 'storage' || error === undefined || storageErrors.some((known) => known === error)
    return isKnown ? undefined : { path: ['do', 'error'], must: `one of ${enumerated(storageErrors)} for ${what}` }
  }
  const others = points.filter((point) => place[point]?.includes(name))
  if (others.length > 0)
    return { path: ['at'], must: `${enumerated(others.map(inQuotes), 'or')} for "${name}" of ${what}` }
  const possible = actions.filter((each) => Object.values(place).some((names) => names.includes(each)))
  const hint = name === 'error' ? ', and "error" needs "match.port"' : ''
  return { path: ['do', name], must: `replaced: ${what} takes ${enumerated(possible, 'or')}${hint}` }
}

const inQuotes = (text: string): string => `"${text}"`
const enumerated = (names: readonly string[], word = 'and'): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`

function isTime(until: number | string): boolean {
  try {
    return timeOf('until', until) !== undefined
  } catch {
    return false
  }
}
