import type { Clock } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import type { ClockState, SandboxClock } from '../../http/context.js'
import {
  Amount,
  ContentHash,
  Descriptor,
  Email,
  pageQuery,
  strictComponent,
  Time,
  timeOf,
  z,
} from '../../http/fields/schema.js'

export { ArmedFaultShape, FaultShape } from '../faults/fault-shape.js'
export { RehearsalReportShape } from '../onion/rehearsal-report.js'

/**
 * What the controls take, over HTTP and as methods of `service.sandbox`. They are strict: a field that a control does not
 * know is an error, because a misspelled one would do nothing.
 */

/** What all operations under `/_sandbox` share. The sandbox's guard checks their callers. */
export const control = <const M extends 'GET' | 'POST' | 'PUT' | 'DELETE', const P extends `/${string}`>(
  method: M,
  path: P,
) => ({ evidence: 'designed', scope: 'sandbox', auth: ['none'], method, path }) as const

export const ClockChangeShape = z.strictObject({
  advance: z.optional(z.union([z.string(), z.number()])),
  set: z.optional(Time),
  mode: z.optional(z.enum(['real', 'manual'])),
})

/** `rule` goes on after the name of the field. */
export const wrongField = (field: string, rule: string): Problem =>
  problem('field_invalid', { detail: `"${field}" ${rule}`, fields: { field } })

/** An address of x402 and MPP. */
const WalletAddress = z.string().check(z.regex(/^0x[0-9a-fA-F]{40}$/, '0x and 40 hex digits'))
const PrivateKey = z.string().check(z.regex(/^0x[0-9a-fA-F]{64}$/, '0x and 64 hex digits'))

export const WalletOrderShape = z.strictObject({
  twin: z.optional(z.string()),
  delegate: z.secret(z.optional(ContentHash)),
  connection: z.optional(z.int()),
  private_key: z.secret(z.optional(PrivateKey)),
  address: z.optional(WalletAddress),
})

export const FundOrderShape = z.strictObject({
  hostname: z.optional(z.string()),
  email: z.optional(Email),
  address: z.optional(WalletAddress),
  amount: z.number(),
  dq: z.optional(ContentHash),
})
const isFunction = (value: unknown): boolean => typeof value === 'function'

const isCsv = (csv: unknown): boolean =>
  typeof csv === 'string' ||
  (typeof csv === 'object' && csv !== null && (Symbol.asyncIterator in csv || Symbol.iterator in csv))

/** Only in JavaScript. Over HTTP, the body is the CSV itself. */
export const BinderImportShape = z.strictObject({
  hostname: z.string(),
  csv: z.unknown().check(z.refine(isCsv, 'a text or a stream of it')),
  onProgress: z.optional(z.unknown().check(z.refine(isFunction, 'a function'))),
})

export const MessageKind = z.enum(['mail', 'push', 'card', 'refund', 'webhook'])
/** Messages to accounts are addressed to a hostname, because accounts have no email. */
const Hostname = z.string().check(z.regex(/^[^\s@][^\s@.]*\.[^\s@]+$/, "a twin's hostname"))

export const OutboxQueryShape = z.strictObject({
  to: z.optional(z.union([Email, Hostname])),
  kind: z.optional(MessageKind),
  ...pageQuery,
})

export const ResetShape = z.strictObject({ clear_journal: z.optional(z.boolean()) })
export const RowQueryShape = z.strictObject({
  q: z.optional(z.string()),
  field: z.optional(z.string()),
  value: z.optional(z.string()),
  limit: pageQuery.limit,
  after: z.optional(z.string()),
})

export const CommodityChangeShape = z.strictObject({ descriptor: z.optional(Descriptor), cost: z.optional(Amount) })
export const SnapshotQueryShape = z.strictObject({ key: z.optional(z.boolean()) })
export const PhoneModeShape = z.enum(['manual', 'approve', 'reject', 'ignore'])
export const PhoneAnswerShape = z.strictObject({ mode: PhoneModeShape, after_seconds: z.optional(z.number()) })
export const PhoneRequestShape = strictComponent('PhoneRequest', { id: z.optional(z.int()) })
export const SignInShape = z.strictObject({ email: Email })

/** Whose approval a test waits for, and how many seconds of real time. Only a method has it. */
export const WaitingShape = z.strictObject({
  email: z.optional(Email),
  seconds: z.optional(z.number().check(z.minimum(0))),
})

/** The last moment of the year 9999, in Unix milliseconds. */
export const LAST_TIME = Date.UTC(10_000, 0) - 1

/** Reads the time to which a clock is set. A number beyond the year 9999 in seconds counts milliseconds. Throws `field_invalid`. */
export function clockTime(set: number | string): number {
  const count = /^\d+$/.test(String(set)) ? Number(set) : 0
  // In seconds, later milliseconds are beyond what a date can hold.
  const time = count * 1000 > LAST_TIME ? count : timeOf('set', set)
  if (time !== undefined && time <= LAST_TIME) return time
  throw problem('field_invalid', { detail: TIME_RANGE, fields: { field: 'set' } })
}

export const TIME_RANGE = 'The clock must be set to a time from 1970 to 9999.'
/** The state now, in a comparison. */
export const CURRENT = 'current'

const Name = z
  .string()
  .check(z.regex(/^(?!req_|current$)[A-Za-z0-9][\w.-]{0,63}$/, 'a name of letters, digits, ".", "_" and "-"'))

export const SavedSnapshotShape = z.strictObject({ name: Name, note: z.optional(z.string().check(z.maxLength(1000))) })
export const RewindShape = z.strictObject({ to: z.string() })

/** A clock that a sandbox can stop, set and advance. Otherwise it follows the real clock. */
export function sandboxClock(real: Clock): SandboxClock {
  let state: ClockState = { mode: 'real', ms: 0 }
  const now = () => (state.mode === 'real' ? real.now() + state.ms : state.ms)
  const set = (mode: ClockState['mode'], ms: number): void =>
    void (state = { mode, ms: mode === 'real' ? ms - real.now() : ms })
  return {
    now,
    realNow: () => real.now(),
    get mode() {
      return state.mode
    },
    setMode: (mode) => set(mode, now()),
    setTo: (ms) => set(state.mode, ms),
    state: () => state,
    restore: (kept) => void (state = kept),
  }
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Converts `90s`, `15m`, `1h30m`, `2d` or seconds to milliseconds, which may be negative. Throws `field_invalid`. */
export function durationMs(duration: string | number): number {
  const text = typeof duration === 'number' ? `${duration}s` : duration.trim()
  const [, sign, parts] = /^(-?)((?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+)$/.exec(text) ?? []
  if (parts === undefined)
    throw wrongField('advance', 'must be a duration such as "90s", "15m", "1h30m" or "2d", or a number of seconds.')
  let ms = 0
  for (const [, count, unit = ''] of parts.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy))
    ms += Number(count) * (UNITS[unit] ?? 0)
  return Math.round(sign === '-' ? -ms : ms)
}
