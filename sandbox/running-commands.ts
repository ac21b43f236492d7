import { Argument, type Command, Option } from 'commander'
import type { ExplainFlags, ReplayFlags, RequestsFlags } from './commands/journal.js'
import { printLine, printText } from './terminal.js'

/** The commands that ask a running service. */

export function addEventCommands(root: Command): void {
  withAccount(root.command('listen'))
    .summary('print the events of a running service, and forward them signed')
    .description(
      'Print the new events of an account of a running service, and forward each to a URL, signed like a webhook. ' +
        'The service need not be able to reach that URL.',
    )
    .option('--forward-to <url>', 'where to post each event')
    .option('--events <patterns>', 'types such as payment.created or payment.*, separated by commas (default: all)')
    .option('--secret <secret>', 'secret that signs what is forwarded (default: a new one, which is printed)')
    .action(async (flags: TextFlags) => {
      const signal = await untilStopped()
      await (await import('./commands/listen.js')).listen(flags, outside(signal), signal)
    })
  withAccount(root.command('trigger'))
    .summary('make an event happen in a running sandbox')
    .description('Make an event happen in a running sandbox, such as payment.created: someone pays for something.')
    .argument('<type>')
    .option('--control-token <token>', 'token of a sandbox on another machine')
    .action(async (type: string, flags: TextFlags) =>
      (await import('./commands/trigger.js')).trigger(type, flags, outside()),
    )
}

export function addFundCommands(root: Command): void {
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

export function addJournalCommands(root: Command): void {
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
      const signal = flags.follow ? await untilStopped() : new AbortController().signal
      await requests(id, flags, outside(signal), signal)
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

/** `signal`: ends every call, also one that is not answered yet. */
const outside = (signal?: AbortSignal) => ({
  ...{ fetch: signal ? endedBy(signal) : fetch, environment: process.env, directory: process.cwd() },
  ...{ print: printLine, printText },
})

const endedBy =
  (signal: AbortSignal): typeof fetch =>
  (input, init = {}) =>
    fetch(input, { ...init, signal: init.signal ? AbortSignal.any([init.signal, signal]) : signal })

async function untilStopped(): Promise<AbortSignal> {
  const stopped = new AbortController()
  void (await import('./signals.js')).stopSignal().then(() => stopped.abort())
  return stopped.signal
}

export function addReset(root: Command): void {
  withSandbox(root.command('reset'))
    .description('reset a running sandbox to its seed; what is stored there is lost')
    .action(async (flags: TextFlags) => (await import('./commands/journal.js')).reset(flags, outside()))
}
