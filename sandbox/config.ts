import * as z from 'zod/mini'
import type { Seed } from '../src/controls/seed-schema.js'
import { evidenceGrades } from '../src/evidence.js'
import { parseDocument, readIfThere } from './document.js'
import { Refusal } from './refusal.js'
import { checkSeed } from './seed/load.js'

const Text = z.string().check(z.minLength(1))

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
  /** Completes the sentence "it must be …". */
  readonly expects: string
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
  json: { flags: '--json', help: 'say where it listens as one line of JSON', expects: aSwitch },
  open: { flags: '--open', help: 'open the dashboard in a browser', expects: aSwitch },
}

const names = Object.keys(settings) as Name[]

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
    check(
      texts(flags, (name) => name),
      flagOf,
    ),
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
    seed: (first('seed') as string | Seed | undefined) ?? 'demo',
    baseUrl: first('baseUrl'),
    clock: first('clock'),
    evidence: first('evidence') ?? 'designed',
    import: first('import'),
    exportOnExit: first('exportOnExit'),
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
  const name = issue?.path[0] as Name | undefined
  if (name === undefined) throw new Refusal(`${place} must hold an object of settings`)
  const value = JSON.stringify((document as Given)[name])
  throw new Refusal(`${named(name)} must be ${settings[name].expects}, not ${value}`)
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
  const { flags } = settings[name]
  if (name === 'port' && /^\d+$/.test(text)) return Number(text)
  if (flags.includes('<')) return text
  if (/^(1|true|yes|on)$/i.test(text)) return true
  return /^(0|false|no|off)$/i.test(text) ? false : text
}

const flagOf = (name: Name): string => /--[a-z-]+/.exec(settings[name].flags)?.[0] ?? name

/** `exportOnExit` is `FARTHING_EXPORT_ON_EXIT`. */
const variableOf = (name: Name): string => `FARTHING_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`

/** As above; what hosts of all kinds set, `PORT`, stands in for `FARTHING_PORT`. */
const variableIn =
  (environment: Sources['environment']) =>
  (name: Name): string =>
    name === 'port' && !environment.FARTHING_PORT ? 'PORT' : variableOf(name)
