import * as z from 'zod/mini'
import { withoutUndefined } from '../src/base/json.js'
import { suggestName } from '../src/base/text/nearest-name.js'
import { options } from '../src/options.js'
import type { Seed } from '../src/sandbox/controls/seed/seed-schema.js'
import { isObject } from '../src/storage/unknown.js'
import { checkSeed, parseDocument, Refusal, readOptionalText } from './refusal.js'

interface Setting {
  readonly schema: z.ZodMiniType
  /** In commander's notation. What does not begin with a dash is the value of the flag that has the setting's name. */
  readonly flags: string
  readonly help: string
  /** Completes the sentence "it must be …", or "each must be …" for a list. */
  readonly expects: string
  /** Errors do not repeat it. */
  readonly isSecret?: boolean
}

const text = z.string().check(z.minLength(1))
const aFile = { schema: text, expects: 'the name of a file' }
const aSwitch = { schema: z.boolean(), expects: 'true or false' }
const aDatabase = { schema: text, expects: 'the URL of a PostgreSQL database', isSecret: true }
const aSeed = {
  schema: z.union([text, z.record(z.string(), z.unknown())]),
  expects: 'a JSON or YAML file, demo or none',
}
const aClock = { schema: z.enum(['real', 'manual']), expects: 'real or manual' }
const aKey = { schema: z.string().check(z.regex(/^[\da-f]{64}$/i)), expects: '64 hex digits', isSecret: true }
const someLimits = {
  ...options.limits,
  expects: `a name and a whole number, such as codes=20. The names are ${Object.keys(options.limits.schema.shape).join(', ')}`,
}

/** What the options of JavaScript lack, or take in another form. */
const own = {
  ...{ data: aFile, memory: aSwitch, database: aDatabase, seed: aSeed, clock: aClock, encryptionKey: aKey },
  ...{ limits: someLimits, import: aFile, exportOnExit: aFile },
  ...{ json: aSwitch, open: aSwitch, fresh: aSwitch, quiet: aSwitch },
}
const takers = { ...options, ...own }

/**
 * The settings of `farthing.config.json`. Each is also a flag and an environment variable. Those that JavaScript has too are
 * the same options. Each text is what the flag takes, and its help. A flag without a name has that of the setting.
 */
const texts = {
  port: `-p, --port <number> port to listen on; 0 picks a free one (default: 4242)`,
  host: `<address> address to listen on (default: 127.0.0.1)`,
  data: `<file> file to store the state in (default: .farthing/data.json)`,
  memory: `store the state in memory only`,
  database: `<url> PostgreSQL database to store the state in, such as postgres://user:password@host/name`,
  seed: `<file> what an empty sandbox starts with: a JSON or YAML file, demo or none (default: demo)`,
  baseUrl: `<url> URL at which clients reach the service (default: where it listens)`,
  clock: `<mode> real or manual; manual time moves only when you advance it (default: as stored)`,
  evidence: `<grade> refuse operations and fields with weaker evidence: documented, observed, named or designed (default: designed)`,
  balances: `<unit> unit of every \`balances\`: quantity, with decimals, or smallest, in integers (default: quantity)`,
  twinDomain: `<domain> domain of the hostnames of new twins (default: twin.localhost)`,
  accountCreation: `<answer> whether anybody may create accounts: yes or no (default: yes)`,
  x402Networks: `--x402-network <id> chain of x402 and MPP, such as eip155:8453; may be repeated (default: eip155:84532)`,
  x402Settle: `<mode> what settling a payment again answers: once, a refusal, or idempotent, the first receipt (default: once)`,
  chargeOnUpstreamError: `keep the payment for a call that the endpoint of a seller answers with 500 or more`,
  encryptionKey: `<hex> key of the state, in place of its key file; a variable keeps it out of the list of processes`,
  limits: `--limit <name=number> limit of the service, such as codes=20 or newPerDay=1000; may be repeated`,
  import: `<file> replace the stored state with the state in this file`,
  exportOnExit: `<file> write the state to this file on exit`,
  controlToken: `<token> token that lets other machines call the controls under /_sandbox (default: random, printed at start)`,
  allowOrigins: `--allow-origin <origin> also let pages of this origin call; may be repeated`,
  allowHosts: `--allow-host <host> also answer requests for this host, beside localhost and the base URL's; may be repeated`,
  allowUpstream: `<host or CIDR> also let purchases call this private host or address range; may be repeated`,
  trustProxy: `take the address of callers from the proxy in front (X-Forwarded-For) for the journal and traces`,
  journalEntries: `<number> how many requests the journal keeps; 0 keeps none (default: 10000)`,
  journalBytes: `<number> how many bytes of requests the journal keeps (default: 64000000)`,
  json: `print the address and credentials as one line of JSON`,
  open: `open the workbench in a browser`,
  fresh: `forget what is stored, and begin with the seed`,
  quiet: `print no line for each request`,
} satisfies Partial<Record<keyof typeof takers, string>>

const wholeFlag = (name: string, flags: string): string =>
  flags.startsWith('-')
    ? flags
    : `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${flags}`.trimEnd()

export type SettingName = keyof typeof texts

function settingFrom(name: SettingName, text: string): Setting {
  const [, flags = '', help = ''] = /^((?:-\S+ )*<[^>]+>)? ?(.*)$/.exec(text) ?? []
  return { ...takers[name], flags: wholeFlag(name, flags), help }
}

export const settings = Object.fromEntries(
  Object.entries(texts).map(([name, text]) => [name, settingFrom(name as SettingName, text)]),
) as { readonly [N in SettingName]: Setting & (typeof takers)[N] } // Object.fromEntries loses the types of the keys.

export type PartialSettings = { readonly [N in SettingName]?: z.output<(typeof settings)[N]['schema']> | undefined }
export const settingOf = (name: SettingName): Setting => settings[name]
/** The flag may be repeated. A variable separates the values by commas. */
export const isList = ({ schema }: Pick<Setting, 'schema'>): boolean => schema.def.type === 'array'
/** Its elements are `name=number`. A config file has an object. The flag may be repeated. */
export const isRecord = ({ schema }: Pick<Setting, 'schema'>): boolean => schema.def.type === 'object'
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
  if (issue?.code === 'unrecognized_keys' && issue.path.length === 0) {
    const said = issue.keys.map((name) => `unknown setting "${name}" in ${place}.${suggestName(name, names)}`)
    throw new Refusal(said.join(' '))
  }
  const name = issue?.path[0]
  if (!isName(name)) throw new Refusal(`${place} must contain an object of settings`)
  const { schema, expects, isSecret } = settingOf(name)
  const given = isObject(document) ? document[name] : undefined
  const at = issue?.path[1]
  const wrong = Array.isArray(given) && typeof at === 'number' ? given[at] : given
  const rule = isList({ schema }) && wrong === given ? `a list, each element ${expects}` : expects
  const shown = isSecret ? '' : `, not ${JSON.stringify(wrong)}`
  throw new Refusal(`${named(name)} must be ${rule}${shown}`)
}

function readSource(source: Readonly<Record<string, unknown>>, keyOf: (name: SettingName) => string) {
  const given: Record<string, unknown> = {}
  for (const name of names) {
    const value = source[keyOf(name)]
    // Many tools set a variable to the empty string to leave it out.
    if (value === undefined || value === '') continue
    given[name] =
      typeof value === 'string' ? parseText(name, value) : isRecord(settingOf(name)) ? recordOf(value) : value
  }
  return given
}

function parseText(name: SettingName, text: string): unknown {
  const setting = settingOf(name)
  const { type } = setting.schema.def
  if (isRecord(setting)) return recordOf(text.split(','))
  if (isList(setting)) return text.split(',').flatMap((each) => each.trim() || [])
  if (type === 'number' && /^\d+$/.test(text)) return Number(text)
  if (type !== 'boolean') return text
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
export function valuesOf(option: string): readonly string[] | undefined {
  const name = names.find((each) => flagOf(each) === `--${option}`)
  if (name === undefined) return undefined
  const { schema, flags } = settingOf(name)
  if (schema instanceof z.ZodMiniEnum) return schema.options.map(String)
  return schema.def.type === 'boolean' && flags.includes('<') ? ['yes', 'no'] : undefined
}
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
