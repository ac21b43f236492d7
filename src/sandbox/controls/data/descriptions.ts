import type { TextsOf } from '../../../http/openapi/texts.js'
import type { dataRoutes, rehearsalRoutes, walletRoutes } from './routes.js'

export const dataTexts: TextsOf<typeof dataRoutes> = {
  operations: {
    readCredentials: 'It changes nothing. Only who may use the controls sees them.',
    actAsCaller: 'Nobody called, so it leaves no event. The caller need not have a credential that you know.',
    updateCommodity:
      'No client can do this, but owners of items can. A price that a payer has seen is then `price_changed`.',
    listCollections: 'It changes nothing. Collections whose ids are credentials are left out.',
    listRows:
      'It changes nothing. A call looks at 20,000 rows at most, so a search may answer with few rows, or none, and a `next`.',
  },
  fields: {
    accounts: 'The accounts.',
    'accounts.name': 'The name in the seed.',
    users: 'The users.',
    'users.code': 'The sign-in code, if the address has a fixed one.',
    principal: 'The caller, as the journal names it: `guest`, `account:1`, `user:2`, `agent:3`.',
    by: 'The kind of credential. Only users have sessions. Default: `token`.',
    headers: 'They identify the caller.',
    hash: 'The hash of the commodity.',
    descriptor: 'Name and receipt line.',
    cost: 'The price, in the digital quantity.',
    dq: 'The hash of the digital quantity.',
    hostname: 'The hostname of the twin that sells.',
    collections: 'The collections.',
    name: 'The name of the collection.',
    refs: 'The collection whose ids a field holds.',
    collection: 'The name of the collection.',
    q: 'A text that the row contains, in upper or lower case.',
    field: 'The name of the field that `value` is compared with.',
    value: 'The value of `field`. Other rows are left out.',
    rows: 'The rows. Credentials and encrypted fields are shown as `…`.',
  },
  components: {},
}

export const walletTexts: TextsOf<typeof walletRoutes> = {
  operations: {
    linkWallet:
      'Send exactly one of `twin`, `delegate` and `connection`. Without a key or address, the answer has a key that is derived, the same each time. A given key is never stored. A retry changes nothing more.',
    listWallets: 'Addresses that signed or were funded without a link have twins of their own, and are listed too.',
    listDiscoveryRefusals: 'The last 50. The header `EXTENSION-RESPONSES` of the settlement said so too.',
  },
  fields: {
    twin: 'The hostname of a twin. Whoever has the key can spend all that it holds.',
    delegate: 'The hash of a delegate. Payments spend its authority.',
    connection: "The id of an app's connection. Payments above the threshold of its user need approvals.",
    private_key: 'A test key: `0x` and 64 hex digits.',
    address: 'The address: `0x` and 40 hex digits.',
    wallets: 'The wallets.',
    refusals: 'Payments whose extension `bazaar` could not be listed.',
    resource: 'The URL of the resource. Null if the payment names none.',
    reason: 'Why it was not listed.',
    at: 'When the payment settled.',
  },
  components: {
    LinkedWallet: {
      is: 'An address of x402 and MPP, and the twin that it pays from.',
      address: 'The address, in the case that checks itself (EIP-55).',
      hostname: 'The hostname of the twin.',
      balances: 'What the twin holds, by the hash of the digital quantity.',
      delegate: 'The hash of the delegate whose authority it spends.',
      connection: 'The id of the connection of the app that pays.',
      private_key: 'The private key, if it is derived.',
    },
  },
}

export const rehearsalTexts: TextsOf<typeof rehearsalRoutes> = {
  operations: {
    keepRehearsal:
      'The process keeps the last 10, until it ends. They are no part of the state. A retry replaces the report by the same one.',
    listRehearsals: 'It changes nothing.',
    readRehearsal: 'It changes nothing.',
  },
  fields: {
    id: 'The id of the rehearsal, which its sender chooses: letters, digits, `_` and `-`.',
    rehearsals: 'The rehearsals.',
    at: "When it was first kept, by the service's clock, in ISO 8601.",
    command: 'The command that was run.',
    running: 'Whether its runs go on.',
    runs: 'How many runs there were.',
    findings: 'How many findings there are.',
  },
  components: {
    RehearsalReport: {
      is: 'The report of `farthing rehearse --json`, which may still grow.',
      ok: 'Whether there is no finding.',
      plans: 'How many plans of faults there are.',
      random_seed: 'What repeats it.',
      flags: 'The options that repeat it, besides the seed and the budget, such as `--restart`.',
      findings: 'What the client does wrong, each with the fewest faults that show it.',
      'findings.verdict': 'What went wrong, such as `paid_twice`.',
      'findings.habit': 'What the client does that causes it, such as `sends_no_key`.',
      'findings.operation': 'The operation whose calls show it.',
      'findings.sureness': 'How sure it is that they are about one thing: `certain`, `likely` or `possible`.',
      'findings.calls': 'How many calls there were.',
      'findings.payments': 'How many of them paid.',
      'findings.delivered': 'How often what they paid for was delivered.',
      'findings.plan.kind': 'What happens, such as `lost_after`.',
      'findings.plan.operation': 'The operation that it happens to.',
      'findings.plan.nth': 'At which call of the operation, counted from 1.',
      'findings.title': 'The verdict in words.',
      'findings.sentence': 'What happens, and what the client does then.',
      'findings.diagram': 'The calls, a line for each.',
      'findings.repeat': 'The options of `farthing rehearse` that repeat it.',
      cells: 'Each call with each fault that it can meet.',
      'cells.kind': 'The fault.',
      'cells.operation': 'The operation that it happens to.',
      'cells.nth': 'At which call of the operation, counted from 1.',
      'cells.diagram': 'The calls of its run, a line for each. Empty while it waits.',
      'cells.stories': 'What the client did wrong in its run.',
      'cells.stories.verdict': 'What went wrong.',
      'cells.stories.habit': 'What the client does that causes it.',
      'cells.stories.operation': 'The operation whose calls show it.',
      'cells.stories.title': 'The verdict in words.',
      'cells.stories.sentence': 'What happens, and what the client does then.',
    },
  },
}
