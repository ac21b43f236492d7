import * as z from 'zod/mini'
import type { Evidence } from '../src/base/evidence.js'
import { suggestName } from '../src/base/text/nearest-name.js'
import { options } from '../src/options.js'
import type { Seed } from '../src/sandbox/controls/seed/seed-content.js'
import { isObject } from '../src/storage/unknown.js'
import { parseDocument, readOptionalText } from './document.js'
import { Refusal } from './refusal.js'
import { checkSeed } from './seed/load.js'

const clocks = ['real', 'manual'] as const
const Text = z.string().check(z.minLength(1))
const HexKey = z.string().check(z.regex(/^[\da-f]{64}$/i))

/**
 * The settings of `farthing.config.json`. Each is also a flag and an environment variable. Those that JavaScript has too are
 * the same options.
 */
const Config = z.strictObject({
  port: z.optional(options.port.schema),
  host: z.optional(options.host.schema),
  data: z.optional(Text),
  memory: z.optional(z.boolean()),
  database: z.optional(Text),
  seed: z.optional(z.union([Text, z.record(z.string(), z.unknown())])),
  baseUrl: z.optional(options.baseUrl.schema),
  clock: z.optional(z.enum(clocks)),
  evidence: z.optional(options.evidence.schema),
  balances: z.optional(options.balances.schema),
  twinDomain: z.optional(options.twinDomain.schema),
  accountCreation: z.optional(options.accountCreation.schema),
  chargeOnUpstreamError: z.optional(options.chargeOnUpstreamError.schema),
  encryptionKey: z.optional(HexKey),
  limits: z.optional(options.limits.schema),
  import: z.optional(Text),
  exportOnExit: z.optional(Text),
  controlToken: z.optional(options.controlToken.schema),
  allowOrigins: z.optional(options.allowOrigins.schema),
  allowHosts: z.optional(options.allowHosts.schema),
  allowUpstream: z.optional(options.allowUpstream.schema),
  trustProxy: z.optional(options.trustProxy.schema),
  journalEntries: z.optional(options.journalEntries.schema),
  journalBytes: z.optional(options.journalBytes.schema),
  json: z.optional(z.boolean()),
  open: z.optional(z.boolean()),
})

/** The settings from one source: the flags, the environment or the config file. */
export type PartialSettings = z.output<typeof Config>
export type SettingName = keyof PartialSettings

interface Setting {
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

export const settings: Readonly<Record<SettingName, Setting>> = {
  port: {
    flags: '-p, --port <number>',
    help: 'port to listen on; 0 picks a free one (default: 4242)',
    expects: options.port.expects,
    isNumber: true,
  },
  host: {
    flags: '--host <address>',
    help: 'address to listen on (default: 127.0.0.1)',
    expects: options.host.expects,
  },
  data: {
    flags: '--data <file>',
    help: 'file to store the state in (default: .farthing/data.json)',
    expects: aFile,
  },
  memory: { flags: '--memory', help: 'store the state in memory only', expects: aSwitch },
  database: {
    flags: '--database <url>',
    help: 'PostgreSQL database to store the state in, such as postgres://user:password@host/name',
    expects: 'the URL of a PostgreSQL database',
    isSecret: true,
  },
  seed: {
    flags: '--seed <file>',
    help: 'what an empty sandbox starts with: a JSON or YAML file, demo or none (default: demo)',
    expects: 'a JSON or YAML file, demo or none',
  },
  baseUrl: {
    flags: '--base-url <url>',
    help: 'URL at which clients reach the service (default: where it listens)',
    expects: options.baseUrl.expects,
  },
  clock: {
    flags: '--clock <mode>',
    help: 'real or manual; manual time moves only when you advance it (default: as stored)',
    expects: 'real or manual',
    values: clocks,
  },
  evidence: {
    flags: '--evidence <grade>',
    help: 'refuse operations and fields with weaker evidence: documented, observed, named or designed (default: designed)',
    expects: options.evidence.expects,
    values: options.evidence.schema.options,
  },
  balances: {
    flags: '--balances <unit>',
    help: 'unit of every `balances`: quantity, with decimals, or smallest, in integers (default: quantity)',
    expects: options.balances.expects,
    values: options.balances.schema.options,
  },
  twinDomain: {
    flags: '--twin-domain <domain>',
    help: 'domain of the hostnames of new twins (default: twin.localhost)',
    expects: options.twinDomain.expects,
  },
  accountCreation: {
    flags: '--account-creation <answer>',
    help: 'whether anybody may create accounts: yes or no (default: yes)',
    expects: 'true or false',
    values: ['yes', 'no'],
    isSwitch: true,
  },
  chargeOnUpstreamError: {
    flags: '--charge-on-upstream-error',
    help: 'keep the payment for a call that the endpoint of a seller answers with 500 or more',
    expects: aSwitch,
  },
  encryptionKey: {
    flags: '--encryption-key <hex>',
    help: 'key of the state, in place of its key file; a variable keeps it out of the list of processes',
    expects: '64 hex digits',
    isSecret: true,
  },
  limits: {
    flags: '--limit <name=number>',
    help: 'limit of the service, such as codes=20 or newPerDay=1000; may be repeated',
    expects: `a name and a whole number, such as codes=20. The names are ${Object.keys(options.limits.schema.shape).join(', ')}`,
    isRecord: true,
  },
  import: {
    flags: '--import <file>',
    help: 'replace the stored state with the state in this file',
    expects: aFile,
  },
  exportOnExit: { flags: '--export-on-exit <file>', help: 'write the state to this file on exit', expects: aFile },
  controlToken: {
    flags: '--control-token <token>',
    help: 'token that lets other machines call the controls under /_sandbox (default: random, printed at start)',
    expects: options.controlToken.expects,
  },
  allowOrigins: {
    flags: '--allow-origin <origin>',
    help: 'also let pages of this origin call; may be repeated',
    expects: options.allowOrigins.expects,
    isList: true,
  },
  allowHosts: {
    flags: '--allow-host <host>',
    help: "also answer requests for this host, beside localhost and the base URL's; may be repeated",
    expects: options.allowHosts.expects,
    isList: true,
  },
  allowUpstream: {
    flags: '--allow-upstream <host or CIDR>',
    help: 'also let purchases call this private host or address range; may be repeated',
    expects: options.allowUpstream.expects,
    isList: true,
  },
  trustProxy: {
    flags: '--trust-proxy',
    help: 'take the address of callers from the proxy in front (X-Forwarded-For) for the journal and traces',
    expects: aSwitch,
  },
  journalEntries: {
    flags: '--journal-entries <number>',
    help: 'how many requests the journal keeps; 0 keeps none (default: 10000)',
    expects: options.journalEntries.expects,
    isNumber: true,
  },
  journalBytes: {
    flags: '--journal-bytes <number>',
    help: 'how many bytes of requests the journal keeps (default: 64000000)',
    expects: options.journalBytes.expects,
    isNumber: true,
  },
  json: { flags: '--json', help: 'print the address and credentials as one line of JSON', expects: aSwitch },
  open: { flags: '--open', help: 'open the dashboard in a browser', expects: aSwitch },
}

const isName = (name: unknown): name is SettingName => typeof name === 'string' && Object.hasOwn(settings, name)

const names = Object.keys(settings).filter(isName)

/** Where the state is. A source sets at most one. */
const places = ['memory', 'data', 'database'] as const

/** What a sandbox is started with. */
export interface Settings {
  readonly port: number
  readonly host: string
  /** Undefined: the state is in a database or in memory. */
  readonly data: string | undefined
  /** The URL of a database, with its password. Never print it. */
  readonly database: string | undefined
  /** The name of a file, `demo`, `none`, or a seed. */
  readonly seed: string | Seed
  readonly baseUrl: string | undefined
  readonly clock: 'real' | 'manual' | undefined
  readonly evidence: Evidence
  readonly balances: 'quantity' | 'smallest'
  /** Undefined: the default of the service. */
  readonly twinDomain: string | undefined
  readonly accountCreation: boolean | undefined
  readonly chargeOnUpstreamError: boolean
  /** Never print it. */
  readonly encryptionKey: string | undefined
  readonly limits: PartialSettings['limits']
  readonly import: string | undefined
  readonly exportOnExit: string | undefined
  /** Undefined: each start has a random one. */
  readonly controlToken: string | undefined
  readonly allowOrigins: readonly string[]
  readonly allowHosts: readonly string[]
  readonly allowUpstream: readonly string[]
  readonly trustProxy: boolean
  /** Undefined: the default of the journal. */
  readonly journalEntries: number | undefined
  readonly journalBytes: number | undefined
  readonly json: boolean
  readonly open: boolean
}

export interface Sources {
  /** As commander parsed them. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The directory that may hold a config file. */
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
  const first = <N extends SettingName>(name: N): PartialSettings[N] =>
    layers.find((layer) => layer[name] !== undefined)?.[name]
  // Memory, a data file and a database are one choice. The strongest source that sets any of them decides.
  const { memory = false, database } = layers.find((layer) => places.some((name) => layer[name] !== undefined)) ?? {}
  return {
    port: first('port') ?? 4242,
    host: first('host') ?? '127.0.0.1',
    data: memory || database !== undefined ? undefined : (first('data') ?? '.farthing/data.json'),
    database,
    // A seed of a config file was checked when that was read.
    seed: (first('seed') as string | Seed | undefined) ?? 'demo',
    baseUrl: first('baseUrl'),
    clock: first('clock'),
    evidence: first('evidence') ?? 'designed',
    balances: first('balances') ?? 'quantity',
    twinDomain: first('twinDomain'),
    accountCreation: first('accountCreation'),
    chargeOnUpstreamError: first('chargeOnUpstreamError') ?? false,
    encryptionKey: first('encryptionKey'),
    limits: first('limits'),
    import: first('import'),
    exportOnExit: first('exportOnExit'),
    controlToken: first('controlToken'),
    allowOrigins: first('allowOrigins') ?? [],
    allowHosts: first('allowHosts') ?? [],
    allowUpstream: first('allowUpstream') ?? [],
    trustProxy: first('trustProxy') ?? false,
    journalEntries: first('journalEntries'),
    journalBytes: first('journalBytes'),
    json: first('json') ?? false,
    open: first('open') ?? false,
  }
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
    return data
  }
  const [issue] = error.issues
  if (issue?.code === 'unrecognized_keys' && issue.path.length === 0)
    throw new Refusal(`unknown setting "${issue.keys[0]}" in ${place}.${suggestName(issue.keys[0] ?? '', names)}`)
  const name = issue?.path[0]
  if (!isName(name)) throw new Refusal(`${place} must contain an object of settings`)
  const { expects, isList, isSecret } = settings[name]
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
    given[name] = typeof value === 'string' ? parseText(name, value) : settings[name].isRecord ? recordOf(value) : value
  }
  return given
}

function parseText(name: SettingName, text: string): unknown {
  const { flags, isList, isNumber, isSwitch, isRecord } = settings[name]
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
  names.map((name) => ({ flag: flagOf(name), ...settings[name] })).find(({ flag }) => flag === `--${option}`)?.values

const flagOf = (name: SettingName): string => /--[a-z-]+/.exec(settings[name].flags)?.[0] ?? name

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
