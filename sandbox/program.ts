import { Command, type CommanderError } from 'commander'
import { VERSION } from '../src/base/version.js'
import { readSettings, type SettingName, type Settings, type Sources, settings } from './config.js'
import { Refusal } from './refusal.js'
import { printToStderr } from './stderr.js'

/** Runs the command line. If it refuses, it prints one line to stderr and exits with code 2. */
export async function runProgram(args: readonly string[]): Promise<void> {
  try {
    await program().parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof Refusal) printToStderr(error.message)
    else if (!isCommanderError(error)) throw error
    else if (error.exitCode === 0) return
    else printToStderr(`${oneLine(error.message)}; see farthing --help`)
    process.exitCode = 2
  }
}

const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')

const oneLine = (message: string): string => message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')

const stateSettings = ['data', 'import', 'exportOnExit'] as const
const reachSettings = ['controlToken', 'allowOrigins', 'allowHosts', 'allowUpstream'] as const
const serviceSettings = ['port', 'host', 'memory', 'seed', 'baseUrl', 'clock', 'evidence', ...reachSettings] as const

function program(): Command {
  const root = new Command('farthing')
    .description('The micropayment service, in your process.')
    .version(VERSION, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {} })
  addStart(root)
  addExec(root)
  addFileCommands(root)
  return root
}

function addStart(root: Command): void {
  const start = root
    .command('start', { isDefault: true })
    .summary('serve until stopped (the default command)')
    .description('Serve until stopped.')
    .allowExcessArguments()
  withSettings(start, [...serviceSettings, ...stateSettings, 'json', 'open']).action(async (flags: Flags) => {
    const [unknown] = start.args
    if (unknown !== undefined) throw new Refusal(`unknown command "${unknown}"; see farthing --help`)
    await (await import('./commands/start.js')).start(await readGiven(flags))
  })
  root.addHelpText('after', () => `\nOptions of start:\n${optionsOf(start)}`)
}

function addExec(root: Command): void {
  const exec = root
    .command('exec')
    .summary('run a command with its own sandbox, by default on a free port and in memory')
    .description(
      "Start a sandbox, run a command, and exit with the command's code. The command finds FARTHING_URL and the " +
        'seeded credentials in its environment: FARTHING_CLIENT_ID, FARTHING_CLIENT_SECRET, FARTHING_PUBLIC_SECRET, ' +
        'FARTHING_USER_EMAIL, FARTHING_USER_CLIENT_ID and FARTHING_USER_CLIENT_SECRET.',
    )
    .usage('[options] -- <command> [arguments...]')
    .argument('<command...>')
    .passThroughOptions()
  withSettings(exec, [...serviceSettings, ...stateSettings], {
    port: 'port to listen on (default: a free one)',
    data: 'file to store the state in (default: in memory)',
  }).action(async (command: string[], flags: Flags) => {
    await (await import('./commands/exec.js')).exec(command, await readGiven(flags, { apart: true }))
  })
}

function addFileCommands(root: Command): void {
  root
    .command('init')
    .description('write farthing.config.json, unless there is one')
    .action(async () => (await import('./commands/init.js')).init(process.cwd()))
  withSettings(root.command('export <file>'), ['data'])
    .description('write the whole state to a JSON file')
    .action(async (file: string, flags: Flags) =>
      (await import('./commands/state.js')).exportState(file, dataOf(await readGiven(flags))),
    )
  withSettings(root.command('import <file>'), ['data'])
    .description('replace everything in the data file with an exported state')
    .action(async (file: string, flags: Flags) =>
      (await import('./commands/state.js')).importState(file, dataOf(await readGiven(flags))),
    )
  withSettings(root.command('openapi'), ['baseUrl'])
    .description('print the OpenAPI document')
    .action(async (flags: Flags) => (await import('./commands/openapi.js')).openapi(await readGiven(flags)))
}

type Flags = Readonly<Record<string, unknown>>

function withSettings(
  command: Command,
  names: readonly SettingName[],
  help: Partial<Record<SettingName, string>> = {},
): Command {
  for (const name of names) {
    const { flags, isList, help: shown } = settings[name]
    if (isList) command.option(flags, help[name] ?? shown, collect)
    else command.option(flags, help[name] ?? shown)
  }
  return command
}

const collect = (value: string, values: readonly string[] = []): readonly string[] => [...values, value]

const readGiven = (flags: Flags, { apart = false }: Pick<Sources, 'apart'> = {}): Promise<Settings> =>
  readSettings({ flags, environment: process.env, directory: process.cwd(), apart })

function dataOf({ data }: Settings): string {
  if (data === undefined) throw new Refusal('this command needs a data file, not memory: name one with --data')
  return data
}

function optionsOf(command: Command): string {
  const help = command.createHelp()
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help')
  const width = Math.max(...options.map(({ flags }) => flags.length))
  return options.map(({ flags, description }) => `  ${flags.padEnd(width)}  ${description}`).join('\n')
}
