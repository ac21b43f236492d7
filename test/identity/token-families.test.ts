import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemRandom } from '../../src/base/ports.js'
import { keyring } from '../../src/base/secrets.js'
import { type ConnectionRow, endFamily, isInFamily, oidcConnections } from '../../src/consent/oidc/connection.js'
import {
  type ClientRow,
  clients,
  findAccessToken,
  refresh,
  revokeClient,
  type TokenPair,
  type TokenRow,
  tokenForClient,
} from '../../src/identity/tokens/token.js'

const AT = Date.UTC(2031, 4, 1)
const HOUR = 3_600_000

const connection: ConnectionRow = {
  ...{ id: 1, user_id: 1, user_generation: 0, client_id: 'app', account_id: null, scopes: [], generation: 0 },
  ...{ ended_families: [], created_at: AT, updated_at: AT },
}

test('every family of tokens that ended stays ended while its tokens live, and no other one ends with it, until all do', async () => {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    tx.put(oidcConnections, connection)
    const ended: string[] = []
    for (let n = 1; n <= 60; n++) {
      const name = `family ${n}`
      const before = await tx.get(oidcConnections, 1)
      await endFamily(tx, { connection_id: 1, generation: before?.generation ?? 0, family_id: name }, AT + n * 60_000)
      ended.push(name)
      const now = await tx.get(oidcConnections, 1)
      const lives = (family_id: string | null, generation = 0) =>
        isInFamily(now, { connection_id: 1, generation, family_id })
      expect(ended.filter((each) => lives(each))).toEqual([])
      expect([lives('another'), lives(null), lives('another', now?.generation)]).toEqual([n <= 50, n <= 50, true])
    }
  })
})

test('a family that ended a day ago takes no room', async () => {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    tx.put(oidcConnections, connection)
    for (let n = 0; n < 200; n++)
      await endFamily(tx, { connection_id: 1, generation: 0, family_id: `${n}` }, AT + n * HOUR)
    const { ended_families = [], generation } = (await tx.get(oidcConnections, 1)) ?? {}
    expect([ended_families.map(({ id }) => id), generation]).toEqual([
      Array.from({ length: 25 }, (_, n) => `${175 + n}`),
      0,
    ])
  })
})

test('revoking a client ends every pair of its tokens, refreshed or not, and none of another client', async () => {
  const storage = memoryStorage()
  const context = { keys: keyring(new Uint8Array(32), systemRandom), random: systemRandom }
  const clientOf = (id: string): ClientRow => ({
    ...{ id, secret_digest: '', owner_kind: 'user', owner_id: 1, created_at: AT, updated_at: AT, deleted_at: null },
  })
  const [one, other] = [clientOf('one'), clientOf('other')]
  const pairs = new Map<ClientRow, TokenPair[]>([
    [one, []],
    [other, []],
  ])
  for (const [client, own] of pairs) {
    await storage.write(async (tx) => tx.put(clients, client))
    for (let n = 0; n < 4; n++) {
      own.push(await storage.write((tx) => tokenForClient(tx, client, AT, context)))
      const { refresh_token } = own.at(-1) as TokenPair
      own.push(await storage.write((tx) => refresh(tx, refresh_token, AT, context)))
      // The next one is a new family.
      await storage.write((tx) => refresh(tx, own.at(-1)?.refresh_token ?? '', AT, context))
    }
  }
  await storage.write((tx) => revokeClient(tx, one, AT))
  for (const [client, own] of pairs)
    for (const { access_token, refresh_token } of own) {
      expect((await storage.read((tx) => findAccessToken(tx, access_token, AT))) !== undefined).toBe(client === other)
      const again = storage.write((tx) => refresh(tx, refresh_token, AT, context))
      await expect(again).rejects.toMatchObject({ code: 'refresh_token_invalid' })
    }
  expect(
    ((await storage.export()).rows.tokens as readonly unknown[] as TokenRow[]).every(
      ({ client_id }) => client_id === 'other',
    ),
  ).toBe(true)
})
