import { evidenceGrades } from './base/evidence.js'
import { UPSTREAM_EXPECTED, upstreamList } from './base/ip-address.js'
import { parsedUrl } from './base/text/foreign-url.js'
import { suggestName } from './base/text/nearest-name.js'
import { NETWORK_EXPECTED, tokenNetworkIn } from './base/token-network.js'
import type { AssemblyOptions } from './composition/assembly-options.js'
import { describeFault } from './http/fields/field.js'
import { z } from './http/fields/schema.js'
import type { Limits } from './http/limits.js'
import { SeedSchema } from './sandbox/controls/seed/seed-schema.js'
import { accessSettings } from './sandbox/onion/access.js'
import { isObject } from './storage/unknown.js'

interface Option {
  readonly schema: z.ZodMiniType
  /** Completes "must be …", or "must be a list, each element …". Absent if the schema describes its fields itself. */
  readonly expects?: string
  readonly isSecret?: true
  /** True and false stand for the defaults and for none. */
  readonly isSwitch?: true
}

const text = z.string().check(z.minLength(1))
/** Lists whose elements `read` accepts. */
const listIn = (read: (text: string) => unknown) =>
  z.array(z.string().check(z.refine((element) => read(element) !== undefined)))
const upstreams = listIn((element) => ('wrong' in upstreamList([element]) ? undefined : element))

const port = (...methods: string[]): Option => ({
  schema: z.unknown().check(
    z.refine((given) => {
      const members = given as Readonly<Record<string, unknown>> | null | undefined
      return methods.every((method) => typeof members?.[method] === 'function')
    }),
  ),
  expects: `an object with ${methods.map((method) => `${method}()`).join(', ')}`,
})

const flag = { schema: z.boolean(), expects: 'true or false' }
const limit = z.optional(z.number().check(z.minimum(0)))
const count = z.int().check(z.minimum(0))

const limits: Readonly<Record<keyof Limits, typeof limit>> = {
  ...{ bodyBytes: limit, bodiesBytes: limit, snapshotBytes: limit, binderBytes: limit, nonceSeconds: limit },
  ...{ upstreamMs: limit, upstreamBytes: limit, cardAmount: limit, cardMs: limit, closeMs: limit },
  ...{ queue: limit, codes: limit, freeCalls: limit, eventDays: limit, answerDays: limit, outboxDays: limit },
  ...{ outboxMessages: limit, newPerDay: limit, storedBytesPerDay: limit },
}

/** Every option that a user can give, in JavaScript or to the command line. */
export const options = {
  storage: port('read', 'write', 'export', 'import', 'close'),
  parts: { schema: z.array(port('load').schema), expects: 'a part from farthing/parts' },
  clock: port('now'),
  alarm: port('set'),
  random: port('bytes'),
  mailer: port('send'),
  push: port('send'),
  fonts: port('find'),
  cards: port('charge', 'refund', 'save'),
  upstream: port('fetch'),
  log: port('error'),
  tracer: port('start'),
  baseUrl: {
    schema: z.string().check(z.refine(isServiceUrl)),
    expects: 'an http or https URL without query and fragment',
  },
  twinDomain: { schema: text, expects: 'a domain such as twin.localhost' },
  evidence: { schema: z.enum(evidenceGrades), expects: evidenceGrades.join(', ').replace(/, (\w+)$/, ' or $1') },
  balances: { schema: z.enum(['quantity', 'smallest']), expects: 'quantity or smallest' },
  controlToken: {
    schema: z.string().check(z.refine((token) => accessSettings.controlToken.read(token) !== undefined)),
    expects: accessSettings.controlToken.expects,
  },
  allowOrigins: { schema: listIn(accessSettings.allowOrigins.read), expects: accessSettings.allowOrigins.expects },
  allowHosts: { schema: listIn(accessSettings.allowHosts.read), expects: accessSettings.allowHosts.expects },
  allowUpstream: { schema: upstreams, expects: UPSTREAM_EXPECTED },
  trustProxy: flag,
  x402Networks: {
    schema: listIn(tokenNetworkIn).check(z.minLength(1)),
    expects: NETWORK_EXPECTED,
  },
  x402Settle: { schema: z.enum(['once', 'idempotent']), expects: 'once or idempotent' },
  chargeOnUpstreamError: flag,
  accountCreation: flag,
  sandbox: flag,
  seed: { schema: SeedSchema },
  encryptionKey: {
    schema: z
      .unknown()
      .check(
        z.refine((key) =>
          typeof key === 'string' ? /^[\da-f]{64}$/i.test(key) : key instanceof Uint8Array && key.length === 32,
        ),
      ),
    expects: '32 bytes: a Uint8Array or 64 hex digits',
    isSecret: true,
  },
  journal: { schema: z.strictObject({ entries: z.optional(count), bytes: z.optional(count) }), isSwitch: true },
  journalEntries: { schema: count, expects: 'a whole number of entries, where 0 keeps none' },
  journalBytes: { schema: count, expects: 'a whole number of bytes, such as 64000000' },
  limits: { schema: z.strictObject(limits) },
  port: { schema: z.int().check(z.minimum(0), z.maximum(65_535)), expects: 'a number from 0 to 65535' },
  host: { schema: text, expects: 'an address of this machine' },
  closeMs: { schema: z.number().check(z.minimum(0)), expects: 'a number of milliseconds' },
  requestMs: { schema: z.int().check(z.minimum(1)), expects: 'a whole number of milliseconds' },
  standsFor: {
    schema: z.union([z.string().check(z.refine(isServiceUrl)), z.array(z.string().check(z.refine(isServiceUrl)))]),
    expects: 'an http or https URL without query and fragment, or a list of them',
  },
  precache: { schema: z.array(text), expects: 'the path of a file, such as "./"' },
} satisfies Record<string, Option>

const { port: portOption, host, closeMs, requestMs, standsFor, precache, ...others } = options
const { journalEntries, journalBytes, ...ofService } = others
export type OptionTaker = 'createService' | 'serve' | 'handlers' | 'handle' | 'fire'

export const optionsOf = {
  createService: ofService satisfies Readonly<Record<keyof AssemblyOptions, Option>>,
  serve: { port: portOption, host, closeMs, requestMs },
  handlers: { baseUrl: options.baseUrl },
  handle: { standsFor },
  fire: { standsFor, precache },
} satisfies Record<OptionTaker, Readonly<Record<string, Option>>>

/**
 * Checks the options of a function. Throws a TypeError that names each unknown one with the nearest right name, or the path
 * of the first wrong one. An undefined option counts as absent.
 */
export function checkOptions(called: OptionTaker, given: unknown): void {
  if (!isObject(given)) throw new TypeError(`${called} takes its options as an object, not ${valueText(given)}.`)
  if (isPromise(given)) throw new TypeError(`The options of ${called} are a promise. Await it.`)
  const table: Readonly<Record<string, Option>> = optionsOf[called]
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(table, name))
  for (const name of unknown)
    if (called === 'createService' && Object.hasOwn(SeedSchema.shape, name))
      throw new TypeError(`"${name}" belongs in the seed: createService({ sandbox: true, seed: { ${name} } }).`)
  if (unknown.length > 0) {
    const names = Object.keys(table)
    const said = unknown.map((name) => `"${name}" is not an option of ${called}.${suggestName(name, names)}`)
    throw new TypeError(said.join(' '))
  }
  for (const [name, option] of Object.entries(table)) checkOption(name, option, given[name])
}

function checkOption(name: string, { schema, expects, isSecret, isSwitch }: Option, value: unknown): void {
  if (value === undefined || (isSwitch && typeof value === 'boolean')) return
  if (isPromise(value)) throw new TypeError(`${name} is a promise. Await it: ${name}: await ….`)
  // A function decides for each URL.
  if (name === 'allowUpstream' && typeof value === 'function') return
  if (isSwitch && !isObject(value))
    throw new TypeError(`${name} must be true, false or an object, not ${valueText(value)}`)
  if (expects === undefined) {
    const fault = describeFault(schema, value, name)
    if (fault !== undefined) throw new TypeError(fault)
    return
  }
  const { error } = schema.safeParse(value)
  if (!error) return
  const at = error.issues[0]?.path[0]
  const wrong = Array.isArray(value) && typeof at === 'number' ? value[at] : value
  const rule = schema.def.type === 'array' && wrong === value ? `a list, each element ${expects}` : expects
  throw new TypeError(`${name} must be ${rule}${isSecret ? '' : `, not ${valueText(wrong)}`}`)
}

function isServiceUrl(address: string): boolean {
  const url = parsedUrl(address)
  return url !== undefined && /^https?:$/.test(url.protocol) && !url.search && !url.hash
}

const isPromise = (value: unknown): boolean => typeof (value as PromiseLike<unknown> | null)?.then === 'function'

function valueText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
