import { Argument, Command, type CommanderError, Option } from 'commander'
import { VERSION } from '../src/base/version.js'
import { StorageUnavailable } from '../src/storage/storage.js'
import type { ExplainFlags, ReplayFlags, RequestsFlags } from './commands/journal.js'
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
import { printLine, printText, printToStderr } from './terminal.js'

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
    .option('--json', 'print the report as one line of JSON')
    .option('--junit <file>', 'write the report as JUnit XML')
    .option('--html <file>', 'write the report as a page')
    .addOption(new Option('--as <format>', 'print a test that fails until the findings are fixed').choices(['vitest']))
  withSettings(rehearse, [...serviceSettings, 'import'], { port: 'port to listen on (default: a free one)' }).action(
    async (command: string[], flags: Flags) => {
      const { rehearseCommand } = await import('./commands/rehearse.js')
      await rehearseCommand(command, flags, await readGiven(flags, { apart: true }))
    },
  )
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

function addEventCommands(root: Command): void {
  withAccount(root.command('listen'))
    .summary('print the events of a running service, and forward them signed')
    .description(
      'Print the new events of an account of a running service, and forward each to a URL, signed like a webhook. ' +
        'The service need not be able to reach that URL.',
    )
    .option('--forward-to <url>', 'where to post each event')
    .option('--events <patterns>', 'types such as payment.created or payment.*, separated by commas (default: all)')
    .option('--secret <secret>', 'secret that signs what is forwarded (default: a new one, which is printed)')
    .action(async (flags: TextFlags) =>
      (await import('./commands/listen.js')).listen(flags, outside(), await untilStopped()),
    )
  withAccount(root.command('trigger'))
    .summary('make an event happen in a running sandbox')
    .description('Make an event happen in a running sandbox, such as payment.created: someone pays for something.')
    .argument('<type>')
    .option('--control-token <token>', 'token of a sandbox on another machine')
    .action(async (type: string, flags: TextFlags) =>
      (await import('./commands/trigger.js')).trigger(type, flags, outside()),
    )
}

function addFundCommands(root: Command): void {
  withSandbox(root.command('fund'))
    .summary('issue value to a twin, a person or an address of a running sandbox')
    .description(
      'Issue value to a twin of a running sandbox, by its hostname; to a person, by their email; or to an address of x402 ' +
        'and MPP (0x…), in USDC.',
    )
    .argument('<whom>', 'hostname, email or address')
    .argument('<amount>', 'in the digital quantity')
    .option('--dq <hash>', 'digital quantity (default: that of the twin, or USDC for an address)')
    .action(async (whom: string, amount: string, flags: TextFlags) =>
      (await import('./commands/funds.js')).fund({ whom, amount }, flags, outside()),
    )
  withSandbox(root.command('x402'))
    .summary('print the lines for .env of an x402 shop and its buyer')
    .description(
      'Print the lines for the .env of an x402 shop and its buyer, with wallets of a running sandbox: farthing x402 env',
    )
    .addArgument(new Argument('<what>').choices(['env']))
    .action(async (_what: string, flags: TextFlags) => (await import('./commands/funds.js')).x402Env(flags, outside()))
}

function addJournalCommands(root: Command): void {
  withSandbox(root.command('requests'))
    .summary('print the requests of a running sandbox, or one of them, or write them for another tool')
    .description(
      'Print the last requests of a running sandbox, oldest first, or one of them with what was sent and answered. With ' +
        '--as, write them for another tool: as commands, or as a test.',
    )
    .argument('[id]', 'an X-Request-ID, last or last-error')
    .option('--operation <id>', 'only requests of this operation, such as createPayment')
    .option('--status <number>', 'only requests that were answered with this status')
    .option('--principal <name>', 'only requests of this caller, such as account:1 or user:2')
    .option('--q <text>', 'only requests with this text in their path, a body, the code or the id')
    .option('--limit <number>', 'print at most this many (default: 20)')
    .addOption(new Option('--as <format>', 'write them for another tool').choices(['curl', 'http', 'har', 'vitest']))
    .option('--from <id>', 'first request to write (default: the oldest of the last ones)')
    .option('--to <id>', 'last request to write (default: the newest)')
    .option('--all', 'also print repeated reads that were answered the same')
    .option('--follow', 'print new requests as they end, until stopped')
    .option('--json', 'print each request as one line of JSON')
    .action(async (id: string | undefined, flags: RequestsFlags) => {
      const { requests } = await import('./commands/journal.js')
      await requests(id, flags, outside(), flags.follow ? await untilStopped() : new AbortController().signal)
    })
  withSandbox(root.command('explain'))
    .summary('say why a running sandbox answered a request as it did, or what an error code means')
    .description(
      'Say why a running sandbox answered a request as it did, and print the call that fixes a refusal. With an error code, ' +
        'such as nonce_used, say what it means. That needs no sandbox.',
    )
    .argument('[id]', 'an X-Request-ID, last, last-error or an error code', 'last-error')
    .option('--json', 'print the explanation as one line of JSON')
    .action(async (id: string, flags: ExplainFlags) =>
      (await import('./commands/journal.js')).explain(id, flags, outside()),
    )
  withSandbox(root.command('replay'))
    .summary('send a request of a running sandbox again')
    .description(
      'Send a request of a running sandbox again, with fresh credentials of the same caller. By default this happens in a ' +
        'fork, so that nothing changes in the sandbox.',
    )
    .argument('<id>', 'an X-Request-ID, last or last-error')
    .option('--diff', 'compare answers and effects, and exit with code 1 if they differ')
    .option('--strict', 'compare ids and times too')
    .addOption(
      new Option('--in <where>', 'in a fork, or in place, where everything happens once more (default: fork)').choices([
        'fork',
        'place',
      ]),
    )
    .option('--json', 'print what came of it as one line of JSON')
    .action(async (id: string, flags: ReplayFlags) =>
      (await import('./commands/journal.js')).replay(id, flags, outside()),
    )
}

type TextFlags = Readonly<Record<string, string>>

const withUrl = (command: Command): Command =>
  command.option(
    '--url <url>',
    'address of the service (default: FARTHING_URL, a sandbox started in this folder, or http://127.0.0.1:4242)',
  )
const withSandbox = (command: Command): Command =>
  withUrl(command).option('--control-token <token>', 'token of a sandbox on another machine')

const withAccount = (command: Command): Command =>
  withUrl(command)
    .option('--client-id <id>', 'client id of the account (default: FARTHING_CLIENT_ID, or the demo seed)')
    .option('--client-secret <secret>', 'client secret of the account (default: FARTHING_CLIENT_SECRET)')

const outside = () => ({
  ...{ fetch, environment: process.env, directory: process.cwd() },
  ...{ print: printLine, printText },
})

async function untilStopped(): Promise<AbortSignal> {
  const stopped = new AbortController()
  void (await import('./signals.js')).stopSignal().then(() => stopped.abort())
  return stopped.signal
}

function addReset(root: Command): void {
  withSandbox(root.command('reset'))
    .description('reset a running sandbox to its seed; what is stored there is lost')
    .action(async (flags: TextFlags) => (await import('./commands/journal.js')).reset(flags, outside()))
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
