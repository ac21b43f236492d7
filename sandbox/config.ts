import * as z from 'zod/mini'
import { withoutUndefined } from '../src/base/json.js'
import { suggestName } from '../src/base/text/nearest-name.js'
import { options } from '../src/options.js'
import type { Seed } from '../src/sandbox/controls/seed/seed-schema.js'
import { isObject } from '../src/storage/unknown.js'
import { checkSeed, parseDocument, Refusal, readOptionalText } from './refusal.js'

const clocks = ['real', 'manual'] as const
const text = z.string().check(z.minLength(1))

interface Setting {
  readonly schema: z.ZodMiniType
  /** In commander's notation. */
  readonly flags: string
  readonly help: string
  /** Completes the sentence "it must be …", or "each must be …" for a list. */
  readonly expects: string
  /** The flag may be repeated. A variable separates the values by commas. */
  readonly isList?: boolean
  readonly isNumber?: boolean
  /** Its text is an answer, such as yes or no. */
  readonly isSwitch?: boolean
  /** Its elements are `name=number`. A config file has an object. The flag may be repeated. */
  readonly isRecord?: boolean
  /** Errors do not repeat it. */
  readonly isSecret?: boolean
  /** All it can be, if that is a short list. */
  readonly values?: readonly string[]
}

const aFile = 'the name of a file'
const aSwitch = 'true or false'

/**
 * The settings of `farthing.config.json`. Each is also a flag and an environment variable. Those that JavaScript has too are
 * the same options.
 */
export const settings = {
  port: {
    ...options.port,
    flags: '-p, --port <number>',
    help: 'port to listen on; 0 picks a free one (default: 4242)',
    isNumber: true,
  },
  host: { ...options.host, flags: '--host <address>', help: 'address to listen on (default: 127.0.0.1)' },
  data: {
    schema: text,
    flags: '--data <file>',
    help: 'file to store the state in (default: .farthing/data.json)',
    expects: aFile,
  },
  memory: { schema: z.boolean(), flags: '--memory', help: 'store the state in memory only', expects: aSwitch },
  database: {
    schema: text,
    flags: '--database <url>',
    help: 'PostgreSQL database to store the state in, such as postgres://user:password@host/name',
    expects: 'the URL of a PostgreSQL database',
    isSecret: true,
  },
  seed: {
    schema: z.union([text, z.record(z.string(), z.unknown())]),
    flags: '--seed <file>',
    help: 'what an empty sandbox starts with: a JSON or YAML file, demo or none (default: demo)',
    expects: 'a JSON or YAML file, demo or none',
  },
  baseUrl: {
    ...options.baseUrl,
    flags: '--base-url <url>',
    help: 'URL at which clients reach the service (default: where it listens)',
  },
  clock: {
    schema: z.enum(clocks),
    flags: '--clock <mode>',
    help: 'real or manual; manual time moves only when you advance it (default: as stored)',
    expects: 'real or manual',
    values: clocks,
  },
  evidence: {
    ...options.evidence,
    flags: '--evidence <grade>',
    help: 'refuse operations and fields with weaker evidence: documented, observed, named or designed (default: designed)',
    values: options.evidence.schema.options,
  },
  balances: {
    ...options.balances,
    flags: '--balances <unit>',
    help: 'unit of every `balances`: quantity, with decimals, or smallest, in integers (default: quantity)',
    values: options.balances.schema.options,
  },
  twinDomain: {
    ...options.twinDomain,
    flags: '--twin-domain <domain>',
    help: 'domain of the hostnames of new twins (default: twin.localhost)',
  },
  accountCreation: {
    ...options.accountCreation,
    flags: '--account-creation <answer>',
    help: 'whether anybody may create accounts: yes or no (default: yes)',
    values: ['yes', 'no'],
    isSwitch: true,
  },
  chargeOnUpstreamError: {
    ...options.chargeOnUpstreamError,
    flags: '--charge-on-upstream-error',
    help: 'keep the payment for a call that the endpoint of a seller answers with 500 or more',
  },
  encryptionKey: {
    schema: z.string().check(z.regex(/^[\da-f]{64}$/i)),
    flags: '--encryption-key <hex>',
    help: 'key of the state, in place of its key file; a variable keeps it out of the list of processes',
    expects: '64 hex digits',
    isSecret: true,
  },
  limits: {
    ...options.limits,
    flags: '--limit <name=number>',
    help: 'limit of the service, such as codes=20 or newPerDay=1000; may be repeated',
    expects: `a name and a whole number, such as codes=20. The names are ${Object.keys(options.limits.schema.shape).join(', ')}`,
    isRecord: true,
  },
  import: {
    schema: text,
    flags: '--import <file>',
    help: 'replace the stored state with the state in this file',
    expects: aFile,
  },
  exportOnExit: {
    schema: text,
    flags: '--export-on-exit <file>',
    help: 'write the state to this file on exit',
    expects: aFile,
  },
  controlToken: {
    ...options.controlToken,
    flags: '--control-token <token>',
    help: 'token that lets other machines call the controls under /_sandbox (default: random, printed at start)',
  },
  allowOrigins: {
    ...options.allowOrigins,
    flags: '--allow-origin <origin>',
    help: 'also let pages of this origin call; may be repeated',
    isList: true,
  },
  allowHosts: {
    ...options.allowHosts,
    flags: '--allow-host <host>',
    help: "also answer requests for this host, beside localhost and the base URL's; may be repeated",
    isList: true,
  },
  allowUpstream: {
    ...options.allowUpstream,
    flags: '--allow-upstream <host or CIDR>',
    help: 'also let purchases call this private host or address range; may be repeated',
    isList: true,
  },
  trustProxy: {
    ...options.trustProxy,
    flags: '--trust-proxy',
    help: 'take the address of callers from the proxy in front (X-Forwarded-For) for the journal and traces',
  },
  journalEntries: {
    ...options.journalEntries,
    flags: '--journal-entries <number>',
    help: 'how many requests the journal keeps; 0 keeps none (default: 10000)',
    isNumber: true,
  },
  journalBytes: {
    ...options.journalBytes,
    flags: '--journal-bytes <number>',
    help: 'how many bytes of requests the journal keeps (default: 64000000)',
    isNumber: true,
  },
  json: {
    schema: z.boolean(),
    flags: '--json',
    help: 'print the address and credentials as one line of JSON',
    expects: aSwitch,
  },
  open: { schema: z.boolean(), flags: '--open', help: 'open the dashboard in a browser', expects: aSwitch },
} satisfies Readonly<Record<string, Setting>>

export type SettingName = keyof typeof settings

export type PartialSettings = { readonly [N in SettingName]?: z.output<(typeof settings)[N]['schema']> | undefined }

export const settingOf = (name: SettingName): Setting => settings[name]

const isName = (name: unknown): name is SettingName => typeof name === 'string' && Object.hasOwn(settings, name)

const names = Object.keys(settings).filter(isName)

const Config = z.strictObject(Object.fromEntries(names.map((name) => [name, z.optional(settingOf(name).schema)])))

/** Where the state is. A source sets at most one. */
const places = ['memory', 'data', 'database'] as const

/** The others have the defaults of the service, or none. */
const defaults = {
  port: 4242,
  host: '127.0.0.1',
  seed: 'demo',
  evidence: 'designed',
  balances: 'quantity',
  chargeOnUpstreamError: false,
  allowOrigins: [],
  allowHosts: [],
  allowUpstream: [],
  trustProxy: false,
  json: false,
  open: false,
} satisfies PartialSettings

/** What a sandbox is started with. Never print `database`, whose URL has a password, or `encryptionKey`. */
export type Settings = {
  readonly [N in Exclude<SettingName, 'memory' | 'seed'>]: N extends keyof typeof defaults
    ? NonNullable<PartialSettings[N]>
    : PartialSettings[N]
} & {
  /** The name of a file, `demo`, `none`, or a seed. */
  readonly seed: string | Seed
}

export interface Sources {
  readonly flags: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly directory: string
  /** Use a free port and memory unless flags or `FARTHING_` variables say otherwise, to stay clear of a running sandbox. */
  readonly apart?: boolean
}

/** Reads the settings. Flags win over the environment, then the config file, then the defaults. Throws `Refusal`. */
export async function readSettings({ flags, environment, directory, apart = false }: Sources): Promise<Settings> {
  const file = await readConfig(directory)
  const own = { port: undefined, data: undefined, memory: undefined, database: undefined }
  const layers: readonly PartialSettings[] = [
    check(readSource(flags, commanderNameOf), flagOf),
    check(
      readSource(environment, apart ? variableOf : portAwareVariableOf(environment)),
      portAwareVariableOf(environment),
    ),
    apart ? { ...file, ...own } : file,
    apart ? { port: 0, memory: true } : {},
  ]
  const { memory: _, ...chosen }: PartialSettings = Object.assign(
    {},
    defaults,
    ...layers.map(withoutUndefined).reverse(),
  )
  // Memory, a data file and a database are one choice. The strongest source that sets any of them decides.
  const { memory = false, database } = layers.find((layer) => places.some((name) => layer[name] !== undefined)) ?? {}
  const data = memory || database !== undefined ? undefined : (chosen.data ?? '.farthing/data.json')
  // Each default is there, and a seed of a config file was checked when that was read.
  return { ...chosen, data, database } as Settings
}

export const configFiles = ['farthing.config.json', 'farthing.config.yaml'] as const

async function readConfig(directory: string): Promise<PartialSettings> {
  const found: [string, string][] = []
  for (const name of configFiles) {
    const text = await readOptionalText(`${directory}/${name}`, name)
    if (text !== undefined) found.push([name, text])
  }
  if (found.length > 1) throw new Refusal(`found both ${configFiles.join(' and ')}: delete one of them`)
  const [name, text] = found[0] ?? []
  if (name === undefined || text === undefined) return {}
  const document = (await parseDocument(name, text)) ?? {}
  const given = check(document, (setting) => `"${setting}" in ${name}`, name)
  return typeof given.seed === 'object' ? { ...given, seed: checkSeed(`"seed" in ${name}`, given.seed) } : given
}

/** Checks the settings of one source. `named` returns what that source calls a setting. */
function check(document: unknown, named: (name: SettingName) => string, place = ''): PartialSettings {
  const { success, data, error } = Config.safeParse(document)
  if (success) {
    const [one, other] = places.filter((name) => data[name] !== undefined && data[name] !== false)
    if (one && other) throw new Refusal(`${named(one)} and ${named(other)} contradict each other: set only one of them`)
    return data as PartialSettings // The schemas say so.
  }
  const [issue] = error.issues
  if (issue?.code === 'unrecognized_keys' && issue.path.length === 0)
    throw new Refusal(`unknown setting "${issue.keys[0]}" in ${place}.${suggestName(issue.keys[0] ?? '', names)}`)
  const name = issue?.path[0]
  if (!isName(name)) throw new Refusal(`${place} must contain an object of settings`)
  const { expects, isList, isSecret } = settingOf(name)
  const given = isObject(document) ? document[name] : undefined
  const at = issue?.path[1]
  const wrong = Array.isArray(given) && typeof at === 'number' ? given[at] : given
  const rule = isList && wrong === given ? `a list, each element ${expects}` : expects
  const shown = isSecret ? '' : `, not ${JSON.stringify(wrong)}`
  throw new Refusal(`${named(name)} must be ${rule}${shown}`)
}

/** Reads every setting from `source` by its name there, and parses texts into the types of the settings. */
function readSource(
  source: Readonly<Record<string, unknown>>,
  keyOf: (name: SettingName) => string,
): Record<string, unknown> {
  const given: Record<string, unknown> = {}
  for (const name of names) {
    const value = source[keyOf(name)]
    // Many tools set a variable to the empty string to leave it out.
    if (value === undefined || value === '') continue
    given[name] =
      typeof value === 'string' ? parseText(name, value) : settingOf(name).isRecord ? recordOf(value) : value
  }
  return given
}

function parseText(name: SettingName, text: string): unknown {
  const { flags, isList, isNumber, isSwitch, isRecord } = settingOf(name)
  if (isRecord) return recordOf(text.split(','))
  if (isList) return text.split(',').flatMap((each) => each.trim() || [])
  if (isNumber && /^\d+$/.test(text)) return Number(text)
  if (flags.includes('<') && !isSwitch) return text
  if (/^(1|true|yes|on)$/i.test(text)) return true
  return /^(0|false|no|off)$/i.test(text) ? false : text
}

/** `['codes=20']` as `{codes: 20}`. What has another form stays, so that the check refuses it. */
function recordOf(given: unknown): unknown {
  if (!Array.isArray(given)) return given
  const pairs = given.map((each) => /^\s*(\w+)=(\d+)\s*$/.exec(String(each)))
  return pairs.includes(null) ? given : Object.fromEntries(pairs.map((pair) => [pair?.[1], Number(pair?.[2])]))
}

/** The values of an option that has few, by its long flag without dashes. */
export const valuesOf = (option: string): readonly string[] | undefined =>
  names.map((name) => ({ flag: flagOf(name), ...settingOf(name) })).find(({ flag }) => flag === `--${option}`)?.values

const flagOf = (name: SettingName): string => /--[a-z-]+/.exec(settingOf(name).flags)?.[0] ?? name

/** Commander's name of a flag: `--allow-origin` is `allowOrigin`. */
const commanderNameOf = (name: SettingName): string =>
  flagOf(name)
    .slice(2)
    .replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** `--export-on-exit` is `FARTHING_EXPORT_ON_EXIT`. */
const variableOf = (name: SettingName): string => `FARTHING_${flagOf(name).slice(2).replaceAll('-', '_').toUpperCase()}`

/** The same, but `PORT`, which many hosts set, stands in for a missing `FARTHING_PORT`. */
const portAwareVariableOf =
  (environment: Sources['environment']) =>
  (name: SettingName): string =>
    name === 'port' && !environment.FARTHING_PORT ? 'PORT' : variableOf(name)
