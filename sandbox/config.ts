import * as z from 'zod/mini'
import { evidenceGrades } from '../src/base/evidence.js'
import { UPSTREAM_EXPECTED, upstreamList } from '../src/base/ip-address.js'
import { reachSettings } from '../src/http/reach.js'
import type { Seed } from '../src/sandbox/controls/seed/seed-schema.js'
import { isObject } from '../src/storage/unknown.js'
import { parseDocument, readIfThere } from './document.js'
import { Refusal } from './refusal.js'
import { checkSeed } from './seed/load.js'

const Text = z.string().check(z.minLength(1))
const Token = z.string().check(z.refine((text) => reachSettings.controlToken.read(text) !== undefined))
const Origins = z.array(z.string().check(z.refine((text) => reachSettings.allowOrigins.read(text) !== undefined)))
const Hosts = z.array(z.string().check(z.refine((text) => reachSettings.allowHosts.read(text) !== undefined)))
const Upstreams = z.array(z.string().check(z.refine((text) => !('wrong' in upstreamList([text])))))

/** What `farthing.config.json` holds, and every flag and environment variable with it. */
const Config = z.strictObject({
  port: z.optional(z.int().check(z.minimum(0), z.maximum(65_535))),
  host: z.optional(Text),
  data: z.optional(Text),
  memory: z.optional(z.boolean()),
  seed: z.optional(z.union([Text, z.record(z.string(), z.unknown())])),
  baseUrl: z.optional(z.url({ protocol: /^https?$/ })),
  clock: z.optional(z.enum(['real', 'manual'])),
  evidence: z.optional(z.enum(evidenceGrades)),
  import: z.optional(Text),
  exportOnExit: z.optional(Text),
  controlToken: z.optional(Token),
  allowOrigins: z.optional(Origins),
  allowHosts: z.optional(Hosts),
  allowUpstream: z.optional(Upstreams),
  json: z.optional(z.boolean()),
  open: z.optional(z.boolean()),
})

/** What one place says: the flags, the environment or the config file. */
export type Given = z.output<typeof Config>
export type Name = keyof Given

interface Setting {
  /** As commander takes it. */
  readonly flags: string
  readonly help: string
  /** Completes the sentence "it must be …"; of a list, "each must be …". */
  readonly expects: string
  /** May be given several times; a variable separates the values by commas. */
  readonly isList?: boolean
}

const aFile = "a file's name"
const aSwitch = 'true or false'

export const settings: Readonly<Record<Name, Setting>> = {
  port: {
    flags: '-p, --port <number>',
    help: 'port to listen on; 0 picks a free one (default: 4242)',
    expects: 'a number from 0 to 65535',
  },
  host: {
    flags: '--host <address>',
    help: 'address to listen on (default: 127.0.0.1)',
    expects: 'an address of this machine',
  },
  data: {
    flags: '--data <file>',
    help: 'file that keeps the state (default: .farthing/data.json)',
    expects: aFile,
  },
  memory: { flags: '--memory', help: 'keep the state in memory only', expects: aSwitch },
  seed: {
    flags: '--seed <file>',
    help: 'what an empty sandbox begins with: a JSON or YAML file, demo or none (default: demo)',
    expects: 'a JSON or YAML file, demo or none',
  },
  baseUrl: {
    flags: '--base-url <url>',
    help: 'where clients reach the service, if not where it listens',
    expects: 'an http or https URL',
  },
  clock: {
    flags: '--clock <mode>',
    help: 'real, or manual: time moves only when told (default: as it was kept)',
    expects: 'real or manual',
  },
  evidence: {
    flags: '--evidence <grade>',
    help: 'refuse operations known by weaker evidence: documented, observed or designed (default: designed)',
    expects: evidenceGrades.join(', ').replace(/, (\w+)$/, ' or $1'),
  },
  import: {
    flags: '--import <file>',
    help: 'begin with the state in this file, in place of what is kept',
    expects: aFile,
  },
  exportOnExit: { flags: '--export-on-exit <file>', help: 'write the state into this file on exit', expects: aFile },
  controlToken: {
    flags: '--control-token <token>',
    help: 'opens the controls under /_sandbox to callers that are not on this machine (default: a random one, printed at the start)',
    expects: reachSettings.controlToken.expects,
  },
  allowOrigins: {
    flags: '--allow-origin <origin>',
    help: 'let pages of this origin call, beside those on this machine; may be repeated',
    expects: reachSettings.allowOrigins.expects,
    isList: true,
  },
  allowHosts: {
    flags: '--allow-host <host>',
    help: "answer requests for this host, beside localhost and the base URL's; may be repeated",
    expects: reachSettings.allowHosts.expects,
    isList: true,
  },
  allowUpstream: {
    flags: '--allow-upstream <host or CIDR>',
    help: 'let purchases call this private host or these addresses, beside public ones and this machine; may be repeated',
    expects: UPSTREAM_EXPECTED,
    isList: true,
  },
  json: { flags: '--json', help: 'say where it listens as one line of JSON', expects: aSwitch },
  open: { flags: '--open', help: 'open the dashboard in a browser', expects: aSwitch },
}

const isName = (name: unknown): name is Name => typeof name === 'string' && Object.hasOwn(settings, name)

const names = Object.keys(settings).filter(isName)

/** What a sandbox is started with. */
export interface Settings {
  readonly port: number
  readonly host: string
  /** Undefined: in memory. */
  readonly data: string | undefined
  /** A file, `demo` or `none`, or the seed itself. */
  readonly seed: string | Seed
  readonly baseUrl: string | undefined
  readonly clock: 'real' | 'manual' | undefined
  readonly evidence: (typeof evidenceGrades)[number]
  readonly import: string | undefined
  readonly exportOnExit: string | undefined
  /** Undefined: a random one for each start. */
  readonly controlToken: string | undefined
  readonly allowOrigins: readonly string[]
  readonly allowHosts: readonly string[]
  readonly allowUpstream: readonly string[]
  readonly json: boolean
  readonly open: boolean
}

export interface Sources {
  /** As commander read them. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where the config file may be. */
  readonly directory: string
  /** Of a command that shall not meet a sandbox that runs already: a free port and memory, unless flags or `FARTHING_` variables say otherwise. */
  readonly apart?: boolean
}

/** Flags win over the environment, that over the config file, that over defaults. Throws `Refusal`. */
export async function readSettings({ flags, environment, directory, apart = false }: Sources): Promise<Settings> {
  const file = await readConfig(directory)
  const own = { port: undefined, data: undefined, memory: undefined }
  const layers: readonly Given[] = [
    check(texts(flags, attributeOf), flagOf),
    check(texts(environment, apart ? variableOf : variableIn(environment)), variableIn(environment)),
    apart ? { ...file, ...own } : file,
    apart ? { port: 0, memory: true } : {},
  ]
  const first = <N extends Name>(name: N): Given[N] => layers.find((layer) => layer[name] !== undefined)?.[name]
  // Memory and a data file are one choice: the strongest that speaks of either decides.
  const { memory = false } = layers.find((layer) => layer.memory !== undefined || layer.data !== undefined) ?? {}
  return {
    port: first('port') ?? 4242,
    host: first('host') ?? '127.0.0.1',
    data: memory ? undefined : (first('data') ?? '.farthing/data.json'),
    // A seed of a config file was checked when that was read.
    seed: (first('seed') as string | Seed | undefined) ?? 'demo',
    baseUrl: first('baseUrl'),
    clock: first('clock'),
    evidence: first('evidence') ?? 'designed',
    import: first('import'),
    exportOnExit: first('exportOnExit'),
    controlToken: first('controlToken'),
    allowOrigins: first('allowOrigins') ?? [],
    allowHosts: first('allowHosts') ?? [],
    allowUpstream: first('allowUpstream') ?? [],
    json: first('json') ?? false,
    open: first('open') ?? false,
  }
}

export const configFiles = ['farthing.config.json', 'farthing.config.yaml'] as const

async function readConfig(directory: string): Promise<Given> {
  const found: [string, string][] = []
  for (const name of configFiles) {
    const text = await readIfThere(`${directory}/${name}`, name)
    if (text !== undefined) found.push([name, text])
  }
  if (found.length > 1) throw new Refusal(`there is both a ${configFiles.join(' and a ')}: keep one`)
  const [name, text] = found[0] ?? []
  if (name === undefined || text === undefined) return {}
  const document = (await parseDocument(name, text)) ?? {}
  const given = check(document, (setting) => `"${setting}" in ${name}`, name)
  return typeof given.seed === 'object' ? { ...given, seed: await checkSeed(`"seed" in ${name}`, given.seed) } : given
}

/** Checks what one place says; `named` tells how a setting is called there. */
function check(document: unknown, named: (name: Name) => string, place = ''): Given {
  const { success, data, error } = Config.safeParse(document)
  if (success) {
    if (data.memory && data.data !== undefined)
      throw new Refusal(`${named('memory')} and ${named('data')} contradict each other: give one of them`)
    return data
  }
  const [issue] = error.issues
  if (issue?.code === 'unrecognized_keys')
    throw new Refusal(`${place} has no setting "${issue.keys[0]}"; there are ${names.join(', ')}`)
  const name = issue?.path[0]
  if (!isName(name)) throw new Refusal(`${place} must hold an object of settings`)
  const { expects, isList } = settings[name]
  const given = isObject(document) ? document[name] : undefined
  const at = issue?.path[1]
  const wrong = Array.isArray(given) && typeof at === 'number' ? given[at] : given
  const rule = isList && wrong === given ? `a list, each of it ${expects}` : expects
  throw new Refusal(`${named(name)} must be ${rule}, not ${JSON.stringify(wrong)}`)
}

/** The settings that `source` holds under the names that `keyOf` gives, as the types they have. */
function texts(source: Readonly<Record<string, unknown>>, keyOf: (name: Name) => string): Record<string, unknown> {
  const given: Record<string, unknown> = {}
  for (const name of names) {
    const value = source[keyOf(name)]
    // A variable set to nothing is how many tools leave one out.
    if (value !== undefined && value !== '') given[name] = typeof value === 'string' ? typed(name, value) : value
  }
  return given
}

function typed(name: Name, text: string): unknown {
  const { flags, isList } = settings[name]
  if (isList) return text.split(',').flatMap((each) => each.trim() || [])
  if (name === 'port' && /^\d+$/.test(text)) return Number(text)
  if (flags.includes('<')) return text
  if (/^(1|true|yes|on)$/i.test(text)) return true
  return /^(0|false|no|off)$/i.test(text) ? false : text
}

const flagOf = (name: Name): string => /--[a-z-]+/.exec(settings[name].flags)?.[0] ?? name

/** Under which commander keeps a flag: `--allow-origin` is `allowOrigin`. */
const attributeOf = (name: Name): string =>
  flagOf(name)
    .slice(2)
    .replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** `--export-on-exit` is `FARTHING_EXPORT_ON_EXIT`. */
const variableOf = (name: Name): string => `FARTHING_${flagOf(name).slice(2).replaceAll('-', '_').toUpperCase()}`

/** As above; what hosts of all kinds set, `PORT`, stands in for `FARTHING_PORT`. */
const variableIn =
  (environment: Sources['environment']) =>
  (name: Name): string =>
    name === 'port' && !environment.FARTHING_PORT ? 'PORT' : variableOf(name)
