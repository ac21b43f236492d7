import { Argument, Command, type CommanderError, Option } from 'commander'
import { VERSION } from '../src/base/version.js'
import { StorageUnavailable } from '../src/storage/storage.js'
import type { ProxyFlags } from './commands/proxy.js'
import { recipes } from './commands/recipes.js'
import {
  isList,
  isRecord,
  readSettings,
  type SettingName,
  type Settings,
  type Sources,
  settingOf,
  valuesOf,
} from './config.js'
import { Refusal } from './refusal.js'
import { addEventCommands, addFundCommands, addJournalCommands, addReset } from './running-commands.js'
import { printToStderr } from './terminal.js'

/** Runs the command line. A refusal prints one line to stderr and exits with 2, a failing disk with 1. */
export async function runProgram(args: readonly string[]): Promise<void> {
  try {
    await program().parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof StorageUnavailable) {
      printToStderr(oneLine(error.message))
      process.exitCode = 1
      return
    }
    if (error instanceof Refusal) printToStderr(oneLine(error.message))
    else if (!isCommanderError(error)) throw error
    else if (error.exitCode === 0) return
    else printToStderr(`${oneLine(error.message)}; see farthing --help`)
    process.exitCode = 2
  }
}

const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')

const oneLine = (message: string): string =>
  message
    .replace(/^error: /, '')
    .split('\n')
    .map((line) => line.trim())
    .join(' ')

const stateSettings = ['data', 'database', 'import', 'exportOnExit'] as const
const serviceSettings = [
  ...(['port', 'host', 'memory', 'seed', 'baseUrl', 'clock', 'evidence', 'balances', 'twinDomain'] as const),
  ...(['accountCreation', 'chargeOnUpstreamError', 'encryptionKey', 'limits', 'journalEntries'] as const),
  ...(['journalBytes', 'controlToken', 'allowOrigins', 'allowHosts', 'allowUpstream', 'trustProxy'] as const),
  ...(['x402Networks', 'x402Settle'] as const),
]

/** The commands and flags, without what they do being loaded. */
export function program(): Command {
  const root = new Command('farthing')
    .description('The micropayment service, in your process.')
    .version(VERSION, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {} })
  for (const add of [
    addStart,
    addExec,
    addRehearse,
    addProxy,
    addInit,
    addReset,
    addFileCommands,
    addEventCommands,
    addFundCommands,
    addJournalCommands,
    addMcp,
  ])
    add(root)
  addCompletion(root)
  return root
}

function addStart(root: Command): void {
  const start = root
    .command('start', { isDefault: true })
    .summary('serve until stopped (the default command)')
    .description('Serve until stopped.')
    .allowExcessArguments()
  withSettings(start, [...serviceSettings, ...stateSettings, 'json', 'open', 'fresh', 'quiet']).action(
    async (flags: Flags) => {
      const [unknown] = start.args
      if (unknown !== undefined) throw new Refusal(`unknown command "${unknown}"; see farthing --help`)
      await (await import('./commands/start.js')).start(await readGiven(flags))
    },
  )
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
  withSettings(exec, [...serviceSettings, ...stateSettings, 'quiet'], {
    quiet: 'do not say where the workbench is',
    port: 'port to listen on (default: a free one)',
    data: 'file to store the state in (default: in memory)',
  }).action(async (command: string[], flags: Flags) => {
    await (await import('./commands/exec.js')).exec(command, await readGiven(flags, { apart: true }))
  })
}

function addRehearse(root: Command): void {
  const rehearse = root
    .command('rehearse')
    .summary('run a command again and again under faults, and say whether it pays twice')
    .description(
      'Run a command without faults, and then under many: lost answers, errors, delays, raised prices. Each run has the ' +
        'same state. The ledger tells whether the command paid twice, or paid and got nothing. Exit with 1 if it did. The ' +
        'command finds the same environment as under exec.',
    )
    .usage('[options] -- <command> [arguments...]')
    .argument('<command...>')
    .passThroughOptions()
    .option('--budget <runs>', 'runs, such as 60 (the default), or minutes, such as 5m')
    .option('--random-seed <number>', 'repeats a rehearsal: which pairs of faults it tries (default: 1)')
    .option('--slow <milliseconds>', 'how long a slow answer takes: longer than the command waits (default: 1000)')
    .option('--restart', 'also stop the command after a payment and start it again: for one that remembers its keys')
    .option('--to <url>', 'put a proxy before this service instead of a sandbox: the command finds it in FARTHING_URL')
    .option('--profile <name>', PROFILE)
    .option('--keep-messages', 'with --to: show in the report what was sent, without what signs it')
    .option('--json', 'print the report as one line of JSON')
    .option('--junit <file>', 'write the report as JUnit XML')
    .option('--html <file>', 'write the report as a page')
    .addOption(new Option('--as <format>', 'print a test that fails until the findings are fixed').choices(['vitest']))
  rehearse.option('--url <url>', 'show it in the workbench of this running sandbox while it runs')
  withSettings(rehearse, [...serviceSettings, 'import'], { port: 'port to listen on (default: a free one)' }).action(
    async (command: string[], flags: Flags) => {
      const { rehearseCommand } = await import('./commands/rehearse.js')
      await rehearseCommand(command, flags, await readGiven(flags, { apart: true }))
    },
  )
}

const PROFILE = 'how the service takes payments: stripe, x402, or a JSON or YAML file'

function addProxy(root: Command): void {
  root
    .command('proxy')
    .summary('put faults and the judge of rehearse before a service that farthing is not')
    .description(
      'Pass requests on to one service, make them fail as you say, and print each. When it is stopped, it says whether its ' +
        'callers paid twice. It keeps none of the headers and bodies.',
    )
    .requiredOption('--to <url>', 'address of the service; nothing is sent elsewhere')
    .requiredOption('--profile <name>', PROFILE)
    .option('-p, --port <number>', 'port to listen on (default: a free one)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1, for this machine only)')
    .option(
      '--fault <kind>',
      'lost_before, lost_after, error_before, error_after, slow or twice, at lost_after@createCharge#2 at its second ' +
        'createCharge; may be repeated',
      collect,
    )
    .option('--slow <milliseconds>', 'how long a slow answer takes (default: 1000)')
    .option('--json', 'print the address and the report as lines of JSON')
    .action(async (flags: Flags) => (await import('./commands/proxy.js')).proxyCommand(flags as ProxyFlags))
}

function addInit(root: Command): void {
  const init = root
    .command('init')
    .description('write farthing.config.json and a seed of your own, or the files of a recipe; never overwrite a file')
  for (const [flag, { help }] of Object.entries(recipes)) init.option(flag, help)
  init.action(async (flags: Flags) => {
    const [asked, another] = init.options.filter((option) => flags[option.attributeName()])
    if (another) throw new Refusal(`${asked?.flags} and ${another.flags} contradict each other: choose one recipe`)
    const recipe = recipes[asked?.flags ?? '']
    if (recipe) await (await import('./commands/init.js')).writeRecipe(recipe, process.cwd())
    else await (await import('./commands/init.js')).writeConfig(process.cwd())
  })
}

function addFileCommands(root: Command): void {
  withSettings(root.command('export <file>'), ['data', 'database', 'json'], { json: COUNTS })
    .description('write the whole state to a JSON file')
    .action(async (file: string, flags: Flags) => {
      const settings = await readGiven(flags)
      const { exportState } = await import('./commands/state.js')
      await exportState({ file, ...storedIn(settings), json: settings.json })
    })
  withSettings(root.command('import [file]'), ['data', 'database', 'json'], { json: COUNTS })
    .description('replace everything that is stored with an exported state, or import a binder into a twin')
    .option('--binder <file>', 'CSV of a binder, whose rows become the history of --twin')
    .option('--twin <hostname>', 'a twin of the data file that has no history yet')
    .action(async (file: string | undefined, flags: Flags) => importGiven(file, flags))
  root
    .command('migrate <file>')
    .description('say what opening an older data file or exported state would change')
    .requiredOption('--check', 'change nothing (opening the file migrates it)')
    .action(async (file: string) => (await import('./commands/state.js')).checkMigration(file))
  root
    .command('verify <file>')
    .description('read all files of a stopped sandbox, and print what is wrong with them')
    .action(async (file: string) => (await import('./commands/data-files.js')).verify(file))
  root
    .command('backup <file> <to>')
    .description('copy the state of a data file to a new file, even while a sandbox uses it')
    .action(async (file: string, to: string) => (await import('./commands/data-files.js')).backup(file, to))
  root
    .command('repair <file> <to>')
    .description('write all that can be read of damaged files to a new file, and print what is lost')
    .action(async (file: string, to: string) => (await import('./commands/data-files.js')).repair(file, to))
  withSettings(root.command('openapi'), ['baseUrl', 'evidence'])
    .description('print the OpenAPI document')
    .action(async (flags: Flags) => (await import('./commands/diff.js')).openapi(await readGiven(flags)))
  withSettings(root.command('diff <file|url>'), ['evidence', 'json'], {
    json: 'print the differences as one line of JSON',
  })
    .description('compare another OpenAPI document, or a recorded session (HAR), with farthing')
    .action(async (place: string, flags: Flags) =>
      (await import('./commands/diff.js')).diff(place, await readGiven(flags)),
    )
}

function addMcp(root: Command): void {
  const command = root
    .command('mcp')
    .summary('serve tools for coding agents over stdio')
    .description(
      'Serve tools for coding agents over stdio, as an MCP server: those of the running sandbox, or of one in memory that ' +
        'it starts.',
    )
    .option('--url <url>', 'address of the running sandbox (default: FARTHING_URL, or this machine at --port)')
  withSettings(command, ['port', 'seed', 'controlToken'], {
    port: 'port of the sandbox to look for, or else to start (default: 4242)',
    seed: 'what a sandbox that it starts has: a JSON or YAML file, demo or none (default: demo)',
    controlToken: 'token of a sandbox on another machine',
  }).action(async ({ url = process.env.FARTHING_URL, ...flags }: Flags) => {
    const named = typeof url === 'string' && url !== '' ? url : undefined
    await (await import('./commands/mcp.js')).mcp(named, await readGiven(flags))
  })
}

function addCompletion(root: Command): void {
  root
    .command('completion')
    .summary('print a script that completes farthing in a shell')
    .description('Print a script that completes farthing in a shell: eval "$(farthing completion bash)"')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') =>
      (await import('./commands/completion.js')).completion(shell, root, valuesOf),
    )
}

const COUNTS = 'print what was moved as one line of JSON'

async function importGiven(file: string | undefined, { binder, twin, ...flags }: Flags): Promise<void> {
  const settings = await readGiven(flags)
  const { json } = settings
  if (typeof binder === 'string' && typeof twin === 'string' && file === undefined) {
    const { importBinderFile } = await import('./commands/state.js')
    return importBinderFile({ file: binder, twin, data: dataOf(settings), json })
  }
  if (binder !== undefined || twin !== undefined || file === undefined)
    throw new Refusal('import needs the file of a state, or --binder FILE together with --twin HOSTNAME')
  const { importState } = await import('./commands/state.js')
  await importState({ file, ...storedIn(settings), json })
}

type Flags = Readonly<Record<string, unknown>>

function withSettings(
  command: Command,
  names: readonly SettingName[],
  help: Partial<Record<SettingName, string>> = {},
): Command {
  for (const name of names) {
    const setting = settingOf(name)
    const { flags, help: shown } = setting
    if (isList(setting) || isRecord(setting)) command.option(flags, help[name] ?? shown, collect)
    else command.option(flags, help[name] ?? shown)
  }
  return command
}

const collect = (value: string, values: readonly string[] = []): readonly string[] => [...values, value]
const readGiven = (flags: Flags, { apart = false }: Pick<Sources, 'apart'> = {}): Promise<Settings> =>
  readSettings({ flags, environment: process.env, directory: process.cwd(), apart })

function storedIn({ data, database }: Settings): Pick<Settings, 'data' | 'database'> {
  if (data === undefined && database === undefined)
    throw new Refusal('this command needs a data file or a database, not memory: name one with --data or --database')
  return { data, database }
}

function dataOf({ data }: Settings): string {
  if (data === undefined) throw new Refusal('this command needs a data file: name one with --data')
  return data
}

function optionsOf(command: Command): string {
  const help = command.createHelp()
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help')
  const width = Math.max(...options.map(({ flags }) => flags.length))
  return options.map(({ flags, description }) => `  ${flags.padEnd(width)}  ${description}`).join('\n')
}
