import { readFile } from 'node:fs/promises'
import { describe, expect, it, test } from 'vitest'
import { schemaHistory } from '../../src/core.js'
import type { State } from '../../src/storage/storage.js'
import { migrateState, type OlderRow } from '../../src/storage/tables/migration.js'

const kept: State = JSON.parse(await readFile(new URL('../states/v1.json', import.meta.url), 'utf8'))

type Rows = Readonly<Record<string, readonly OlderRow[]>>

/** The rows of a state of the first schema, as they are today. */
async function migrated(rows: Rows): Promise<Rows> {
  const state = await migrateState({ counters: {}, rows }, schemaHistory)
  return state.rows as Rows // Every row has an id.
}

describe('a user', () => {
  const user = (id: number, fields: object = {}) => ({
    id,
    email: `u${id}@example.test`,
    made_by: null,
    created_at: id,
    ...fields,
  })
  const signIn = (id: number, owner: number, by: string) => ({
    id,
    owner: `user:${owner}`,
    type: 'sign_in',
    data: { by },
    created_at: 100 + id,
  })

  it('has proven their email if a seed created them, or if they signed in by a code', async () => {
    const { users = [] } = await migrated({
      users: [user(1), user(2, { made_by: 9 }), user(3, { made_by: 9 }), user(4, { made_by: 9 }), user(5)],
      events: [
        signIn(1, 3, 'token'),
        signIn(2, 4, 'code'),
        signIn(3, 5, 'page'),
        signIn(4, 5, 'code'),
        signIn(5, 4, 'code'),
      ],
    })
    expect(users.map(({ email_verified_at }) => email_verified_at)).toEqual([1, null, null, 102, 104])
  })

  it('keeps what their row says already', async () => {
    const said = [user(1, { email_verified_at: null }), user(2, { email_verified_at: 7, made_by: 9 })]
    expect((await migrated({ users: said, events: [signIn(1, 1, 'code')] })).users).toMatchObject(said)
  })

  it('has an email in the one form, unless another user has that', async () => {
    const emails = ['jose\u0301@example.test', 'zoe\u0308@example.test', 'zo\u00eb@example.test']
    const { users = [] } = await migrated({ users: emails.map((email, id) => user(id, { email })) })
    expect(users.map(({ email }) => email)).toEqual(['jos\u00e9@example.test', ...emails.slice(1)])
  })
})

describe('a top-up whose card is being charged', () => {
  const payment = { id: 1, kind: 'topup', status: 'pending', dq: 'dq', payer_twin_id: 4, amount: '25' }
  const message = { id: 1, kind: 'card', status: 'pending', purpose: 'topup', purpose_id: 1 }
  const issuer = { id: '4:dq', twin_id: 4, dq: 'dq', amount: '-100', held: '0' }

  it('gets its supply reserved, once', async () => {
    const rows = { payments: [payment], outbox: [message], balances: [issuer] }
    const expected = {
      balances: [{ ...issuer, reserved: '25' }],
      reservations: [{ id: 1, dq: 'dq', issuer_twin_id: 4, amount: '25' }],
    }
    const first = await migrated(rows)
    expect(first).toMatchObject(expected)
    expect(await migrated(first)).toMatchObject(expected)
  })

  it('gets none if the supply is exhausted, or if its payment has ended', async () => {
    const exhausted = { ...issuer, amount: String(-(2n ** 53n - 1n) + 24n) }
    for (const [payments, balances] of [
      [[payment], [exhausted]],
      [[{ ...payment, status: 'posted' }], [issuer]],
    ] as const) {
      const { reservations, balances: after } = await migrated({ payments, balances, outbox: [message] })
      expect(reservations).toBeUndefined()
      expect(after).toEqual(balances)
    }
  })
})

test('the key of a state moves to its own collection, with a digest that shows that it belongs to it', async () => {
  const key = { id: 'key', value: 'ab'.repeat(32) }
  const { settings, service_keys } = await migrated({ settings: [key] })
  expect(service_keys).toEqual([key])
  expect(settings).toEqual([{ id: 'key_digest', value: expect.stringMatching(/^[0-9a-f]{64}$/) }])
})

test('an app is unused since the last event, unless a user has it connected', async () => {
  const { oidc_clients = [] } = await migrated({
    oidc_clients: [
      { id: 'a', created_at: 1 },
      { id: 'b', created_at: 2 },
      { id: 'c', created_at: 3, unused_since: 5 },
    ],
    oidc_connections: [{ id: 1, client_id: 'a' }],
    events: [
      { id: 1, created_at: 70 },
      { id: 2, created_at: 80 },
    ],
  })
  expect(oidc_clients.map(({ unused_since }) => unused_since)).toEqual([null, 80, 5])
})

test('an inactive catalog item says its endpoint, if that has no placeholder', async () => {
  const item = (id: number, active: boolean, external_endpoint: string) => ({
    id,
    active,
    archived: false,
    external_endpoint,
  })
  const { catalog_items = [] } = await migrated({
    catalog_items: [
      item(1, true, 'https://a.test/x'),
      item(2, false, 'https://A.test'),
      item(3, false, 'https://a.test/{input.x}'),
    ],
  })
  expect(catalog_items.map(({ idle_at }) => idle_at)).toEqual([null, 'https://a.test/', null])
})

test('the state of the first release changes as the steps say, and a second run changes nothing', async () => {
  const once = await migrateState(kept, schemaHistory)
  expect(await migrateState({ ...once, schema: 1 }, schemaHistory)).toEqual(once)
  const gained: Record<string, string[]> = {}
  for (const [name, rows] of Object.entries(once.rows))
    for (const row of rows) {
      const before = kept.rows[name]?.find(({ id }) => id === row.id) ?? {}
      const fields = Object.keys(row).filter((field) => !(field in before))
      if (fields.length > 0) gained[name] = [...new Set([...(gained[name] ?? []), ...fields])]
    }
  expect(gained).toEqual({
    account_changes: ['claim', 'last_step_at'],
    authentication_requests: ['asker', 'generation', 'spendable_until'],
    carts: ['expires_at'],
    catalog_counts: ['id', 'items'],
    catalog_items: ['idle_at'],
    catalog_words: ['id', 'word', 'block', 'ids'],
    checkout_charges: ['seller_id'],
    delegates: ['generation'],
    devices: ['change'],
    oidc_clients: ['unused_since'],
    oidc_codes: ['generation'],
    oidc_connections: ['generation', 'ended_families', 'user_generation'],
    oidc_interactions: ['refused'],
    oidc_tokens: ['generation'],
    outbox: ['due_set_at', 'subjects'],
    service_keys: ['id', 'value'],
    sessions: ['previous_digest', 'client_id', 'generation'],
    settings: ['id', 'value'],
    sign_in_codes: ['counted'],
    twin_nonces: ['generation'],
    users: ['email_verified_at', 'generation'],
  })
})

describe('what ends', () => {
  const DAY = 86_400_000
  const cart = (id: number, fields: object) => ({ id, lines_made: 0, created_at: 100, ordered_at: null, ...fields })

  it('is a cart: a day after it was made, a month for a token, three months after it was paid', async () => {
    const { carts = [] } = await migrated({
      carts: [
        cart(1, { holder: 'guest:a' }),
        cart(2, { holder: 'token:a' }),
        cart(3, { holder: 'session:a', ordered_at: 200 }),
        cart(4, { holder: 'session:a', expires_at: 7 }),
      ],
    })
    expect(carts.map(({ expires_at }) => expires_at)).toEqual([100 + DAY, 100 + 30 * DAY, 200 + 90 * DAY, 7])
  })

  it('is a day or month of a spending authority', async () => {
    const { delegate_spendings = [] } = await migrated({
      delegate_spendings: ['41ab:2031-02-28', '41ab:2031-12-31', '41ab:2031-12', '41ab:all'].map((id) => ({
        id,
        spent: '1',
      })),
    })
    const ends = [Date.UTC(2031, 2, 1), Date.UTC(2032, 0, 1), Date.UTC(2032, 0, 1), undefined]
    expect(delegate_spendings.map(({ period_ends_at }) => period_ends_at)).toEqual(ends)
  })
})
