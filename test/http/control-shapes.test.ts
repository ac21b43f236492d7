import { expect, onTestFinished, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { createService, Problem } from '../../src/index.js'
import { caller } from '../support/api.js'

/** A control of the route table as a method of `service.sandbox`. */
interface Control {
  readonly call: (sandbox: ReturnType<typeof createService>['sandbox'], given: any) => unknown
  readonly accepts: readonly object[]
  /** Fields that it refuses, the field that the error names, and what else the error says. */
  readonly refuses: readonly (readonly [given: object, field: string, says: string])[]
}

const hostname = 'payer.twin.localhost'

/** Every control that takes fields, except a snapshot, which has its own checks. */
const dropped = { match: {}, at: 'before', do: { drop: true } }

/** Parts of faults that could never happen. */
const refusedFaults: [object, string, string][] = [
  [{ match: { port: 'mial' } }, 'match.port', 'one of "storage", "mail"'],
  [{ match: { prot: 'mail' } }, 'match.prot', 'Did you mean "port"?'],
  [{ match: { operation_id: 'createPaymnet' } }, 'match.operation_id', 'Did you mean "createPayment"?'],
  [{ match: { operation_id: 'resetSandbox' } }, 'match.operation_id', 'not an operation that can fail'],
  [{ match: { principal: 'ada' } }, 'match.principal', 'account:1, user:2 or agent:3'],
  [{ match: { path: 'payment' } }, 'match.path', '/v4/payment/*'],
  [
    { match: { port: 'mail', operation_id: 'createPayment' } },
    'match.operation_id',
    'the port "mail" is matched alone',
  ],
  [{ match: { port: 'mail' }, at: 'mid_body' }, 'at', '"before" or "after_commit" for "drop" of the port "mail"'],
  [{ do: { duplicate: true } }, 'at', '"after_commit" for "duplicate" of a request'],
  [{ do: { truncate: 3 } }, 'at', '"mid_body" for "truncate" of a request'],
  [{ do: { error: 'EIO' } }, 'do.error', '"error" needs "match.port"'],
  [{ match: { port: 'storage' }, do: { error: 'OOPS' } }, 'do.error', 'one of ENOSPC'],
  [{ match: { port: 'mail' }, do: { raise_price: 5 } }, 'do.raise_price', 'the port "mail" takes'],
  [{ do: { x402: 'wrong_payer' } }, 'at', '"after_commit" for "x402" of a request'],
  [{ at: 'after_commit', do: { x402: 'rude' } }, 'do.x402', 'settlement_pending'],
  [{ match: { port: 'card' }, do: { status: 500 } }, 'do.status', 'the port "card" takes'],
  [{ do: {} }, 'do', 'exactly one of status'],
  [{ do: { drop: true, delay_ms: 1 } }, 'do', 'exactly one of status'],
  [{ do: { drop: true, body: 1 } }, 'do.body', 'sent with "status"'],
  [{ do: { drop: true, retry_after: 1 } }, 'do.retry_after', 'sent with "status"'],
  [{ do: { status: 503, retry_after: -1 } }, 'do.retry_after', 'at least 0'],
  [{ do: { status: 503, retry_after: 1.5 } }, 'do.retry_after', 'an integer'],
  [{ do: { status: 700 } }, 'do.status', 'at most 599'],
  [{ do: { drop: false } }, 'do.drop', 'one of true'],
  [{ times: 0 }, 'times', 'at least 1'],
  [{ probability: 2 }, 'probability', 'at most 1'],
  [{ seed: 1 }, 'seed', 'sent with "probability"'],
  [{ until: 'tomorrow' }, 'until', 'ISO 8601'],
  [{ id: 'a/b' }, 'id', 'letters, digits'],
]

const rehearsal = { ok: true, runs: 1, plans: 1, random_seed: 1, findings: [], cells: [] }

const controls: Record<string, Control> = {
  seedSandbox: {
    call: (sandbox, given) => sandbox.seed(given),
    accepts: [{ digital_quantities: [{ name: 'Points', shortcode: 'PTS' }] }],
    refuses: [
      [{ user: [] }, 'user', 'Did you mean "users"?'],
      [{ users: [{ email: 'a@example.test', balnce: 3 }] }, 'users.0.balnce', 'Did you mean "balance"?'],
      [{ accounts: [{ nmae: 'A' }] }, 'accounts.0.nmae', 'Did you mean "name"?'],
      [{ accounts: [{}] }, 'accounts.0.name', 'is missing: it must be a string'],
      [{ users: [{ email: 'a@example.test', balance: '3' }] }, 'users.0.balance', 'must be a number'],
    ],
  },
  armFault: {
    call: (sandbox, given) => sandbox.faults.arm(given),
    accepts: [
      { ...dropped, times: 1, every: 2, probability: 0.5, seed: 3, until: '2033-01-01T00:00:00Z' },
      { ...dropped, match: { operation_id: 'createPayment', method: 'POST', path: '/v4/*', principal: 'user:1' } },
      { id: 'mine', match: { port: 'storage' }, at: 'after_commit', do: { error: 'EIO' } },
      { match: { port: 'upstream', path: '/weather' }, at: 'before', do: { status: 503, body: [1] } },
    ],
    refuses: refusedFaults.map(([part, field, says]) => [{ ...dropped, ...part }, field, says]),
  },
  resetSandbox: {
    call: (sandbox, given) => sandbox.reset(given),
    accepts: [{}, { clear_journal: false }],
    refuses: [
      [{ clear_jornal: true }, 'clear_jornal', 'Did you mean "clear_journal"?'],
      [{ clear_journal: 'yes' }, 'clear_journal', 'must be a boolean'],
    ],
  },
  readSnapshot: {
    call: (sandbox, given) => sandbox.snapshot(given),
    accepts: [{ key: false }],
    refuses: [[{ keys: false }, 'keys', 'Did you mean "key"?']],
  },
  fundTwin: {
    call: (sandbox, given) => sandbox.fund(given),
    accepts: [
      { hostname, amount: 1 },
      { address: `0x${'1'.repeat(40)}`, amount: 5 },
    ],
    refuses: [
      [{ hostname, amuont: 1 }, 'amuont', 'Did you mean "amount"?'],
      [{ wallet: hostname, amount: 1 }, 'wallet', 'Choose from hostname, email, address, amount, dq.'],
      [{ hostname, amount: '1' }, 'amount', 'must be a number'],
    ],
  },
  linkWallet: {
    call: (sandbox, given) => sandbox.wallets.link(given),
    accepts: [{ twin: hostname }, { twin: hostname, address: `0x${'1'.repeat(40)}` }],
    refuses: [
      [{ hostname }, 'hostname', 'is not a field'],
      [{ twin: hostname, private_key: '0x1' }, 'private_key', '0x and 64 hex digits'],
      [{ twin: hostname, private_key: `0x${'f'.repeat(64)}` }, 'private_key', 'must be a private key'],
      [{ twin: hostname, address: '0x1' }, 'address', '0x and 40 hex digits'],
    ],
  },
  updateClock: {
    call: (sandbox, given) => sandbox.setClock(given),
    accepts: [
      { mode: 'manual' },
      { set: '2033-01-01T00:00:00Z' },
      { set: 1_990_000_000 },
      { set: '1990000001' },
      { set: 1_990_000_002_000 },
      { advance: '1h' },
      { advance: 90 },
    ],
    refuses: [
      [{ advanse: '1h' }, 'advanse', 'Did you mean "advance"?'],
      [{ mode: 'fast' }, 'mode', 'one of "real", "manual"'],
      [{ set: 'tomorrow' }, 'set', 'ISO 8601'],
      [{ set: null }, 'set', 'must be'],
    ],
  },
  keepRehearsal: {
    call: (sandbox, report) => sandbox.rehearsals.keep('mine', report),
    accepts: [rehearsal, { ...rehearsal, command: 'npm test', running: true }],
    refuses: [
      [{ ...rehearsal, cell: [] }, 'cell', 'Did you mean "cells"?'],
      [{ ...rehearsal, runs: -1 }, 'runs', 'at least 0'],
      [{ ...rehearsal, cells: [{ kind: 'slow' }] }, 'cells.0.operation', 'is missing'],
    ],
  },
  saveNamedState: {
    call: (sandbox, { name, ...options }) => sandbox.snapshots.save(name, options),
    accepts: [{ name: 'funded', note: 'Ada has 5' }],
    refuses: [
      [{ name: 'a b' }, 'name', 'a name of letters'],
      [{ name: 'x', nte: 'y' }, 'nte', 'Did you mean "note"?'],
    ],
  },
  rewindSandbox: {
    call: (sandbox, { to }) => sandbox.rewind(to),
    accepts: [],
    refuses: [[{ to: 1 }, 'to', 'must be a string']],
  },
  listRequests: {
    call: (sandbox, given) => sandbox.requests.list(given),
    accepts: [{}, { operation_id: 'createPayment', limit: 1 }, { status: 402, q: 'payment' }],
    refuses: [
      [{ operation: 'createPayment' }, 'operation', 'Did you mean "operation_id"?'],
      [{ limit: 0 }, 'limit', 'at least 1'],
    ],
  },
  readRequest: {
    call: (sandbox, { as }) => sandbox.requests.export(':id', as),
    accepts: [],
    refuses: [[{ as: 'xml' }, 'as', 'one of "curl"']],
  },
  listRows: {
    call: (sandbox, given) => sandbox.rows('users', given),
    accepts: [{}, { limit: 1 }, { q: 'PAYER', limit: 5 }, { field: 'email', value: 'nobody@example.test' }],
    refuses: [
      [{ limit: 0 }, 'limit', '1'],
      [{ feild: 'email' }, 'feild', 'Did you mean "field"?'],
    ],
  },
  actAsCaller: {
    call: (sandbox, { principal, ...options }) => sandbox.actAs(principal, options),
    accepts: [],
    refuses: [
      [{ principal: 'ada' }, 'principal', 'account:1'],
      [{ principal: 'user:1', as: 'session' }, 'as', 'Choose from principal, by.'],
    ],
  },
  updateCommodity: {
    call: (sandbox, given) => sandbox.updateCommodity(':hash', given),
    accepts: [],
    refuses: [
      [{ price: 1 }, 'price', 'Choose from descriptor, cost.'],
      [{ cost: '1' }, 'cost', 'must be a number'],
    ],
  },
  replayRequest: {
    call: (sandbox, given) => sandbox.requests.replay(':id', given),
    accepts: [],
    refuses: [
      [{ in: 'plaec' }, 'in', 'one of "fork", "place"'],
      [{ in: 'fork', dif: true }, 'dif', 'Did you mean "diff"?'],
    ],
  },
  readOutbox: {
    call: (sandbox, given) => sandbox.outbox(given),
    accepts: [{}, { kind: 'mail', limit: 1 }, { to: 'payer@example.test' }],
    refuses: [
      [{ knd: 'mail' }, 'knd', 'Did you mean "kind"?'],
      [{ kind: 'fax' }, 'kind', 'one of "mail"'],
    ],
  },
  signInAsUser: {
    call: (sandbox, given) => sandbox.signIn(given),
    accepts: [],
    refuses: [
      [{ mail: 'a@example.test' }, 'mail', 'Did you mean "email"?'],
      [{ email: 'eve' }, 'email', 'an email address'],
    ],
  },
  setPhone: {
    call: (sandbox, given) => sandbox.phone(1).answer(given),
    accepts: [{ mode: 'approve', after_seconds: 5 }, { mode: 'manual' }],
    refuses: [
      [{ mode: 'approve', afterSeconds: 5 }, 'afterSeconds', 'Did you mean "after_seconds"?'],
      [{ mode: 'maybe' }, 'mode', 'one of "manual"'],
    ],
  },
  ...Object.fromEntries(
    (['approve', 'reject'] as const).map((verb): [string, Control] => [
      `${verb}OnPhone`,
      {
        call: (sandbox, given) => sandbox.phone(1)[verb](given),
        accepts: [{}, { id: 9 }],
        refuses: [[{ request: 9 }, 'request', 'Choose from id.']],
      },
    ]),
  ),
}

async function start() {
  const service = createService({
    sandbox: true,
    clock: { now: () => 1_900_000_000_000 },
    encryptionKey: '0'.repeat(64),
    seed: { users: [{ email: 'payer@example.test', hostname }] },
  })
  onTestFinished(() => service.close())
  return { sandbox: service.sandbox, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

/** No method takes a snapshot's fields one by one, nor a message to the MCP server. */
const others = ['restoreSnapshot', 'callSandboxMcp']

const taking = routeList.filter(({ scope, id, body, query }) => {
  return scope === 'sandbox' && !others.includes(id) && (body ?? query) !== undefined
})

test('every control that takes fields is in the list above', () => {
  expect(taking.map(({ id }) => id).sort()).toEqual(Object.keys(controls).sort())
})

test.each(taking.map((route) => [route.id, route] as const))(
  '%s takes the same fields over HTTP and as a method',
  async (id, { method, path, query }) => {
    const { call: control, accepts, refuses } = controls[id] as Control
    const [there, here] = [await start(), await start()]
    const overHttp = (given: object) => {
      const url = path.replace(':user_id', '1').replace(':collection', 'users').replace(':id', 'mine')
      if (query === undefined) return there.call(method, url, { body: given })
      const text = Object.entries(given).map(([name, value]): [string, string] => [name, String(value)])
      return there.call(method, `${url}?${new URLSearchParams(text)}`)
    }
    for (const given of accepts) {
      const { status, body } = await overHttp(given)
      expect([given, status]).toEqual([given, status < 300 ? status : 'accepted'])
      expect(await control(here.sandbox, given)).toEqual(body)
    }
    for (const [given, field, says] of refuses) {
      const { status, body } = await overHttp(given)
      expect([given, status, body.code, body.field]).toEqual([given, 400, 'field_invalid', field])
      expect(body.error).toContain(says)
      const refused = await Promise.resolve(control(here.sandbox, given)).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(Problem)
      expect((refused as Problem).bodyAt({ baseUrl: 'http://127.0.0.1:4242' })).toEqual(body)
    }
  },
)

test('methods also take shorter forms', async () => {
  const { sandbox } = await start()
  await sandbox.setClock({ mode: 'manual' })
  expect(await sandbox.setClock({ set: new Date('2033-01-01T00:00:00Z') })).toMatchObject({
    now: '2033-01-01T00:00:00.000Z',
  })
  await expect(sandbox.setClock({ set: new Date('never') })).rejects.toMatchObject({ fields: { field: 'set' } })
  expect(await sandbox.phone(1).answer('approve', { afterSeconds: 5 })).toMatchObject({ after_seconds: 5 })
  const misspelled = { afterSecond: 5 } as object
  await expect(sandbox.phone(1).answer('approve', misspelled)).rejects.toThrow('Did you mean "after_seconds"?')
  expect(await sandbox.phone(1).approve(9)).toEqual({ requests: [] })
})

test('methods without a control over HTTP refuse misspelled fields too', async () => {
  const { sandbox } = await start()
  const agent = { email: 'payer@example.test', protocl: '2025-11-25' }
  await expect(sandbox.agent(agent)).rejects.toThrow('"protocl" is not a field. Did you mean "protocol"?')
  await expect(sandbox.approvals.next({ second: 1 } as object)).rejects.toThrow('Did you mean "seconds"?')
})

test('ordinary request bodies may have fields that the service does not know', async () => {
  const { call } = await start()
  const body = { email: 'payer@example.test', emial: 'x' }
  expect((await call('POST', '/v4/session/code', { body })).status).toBe(202)
})
