import { expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service, type Storage } from '../../src/index.js'

const seed = { accounts: [{ name: 'News' }, { name: 'News' }], users: [{ email: 'ada@example.test' }] }
const own = {
  public_secret: `mp_${'1'.repeat(32)}`,
  client_id: `mid_${'1'.repeat(32)}`,
  client_secret: `mc_${'1'.repeat(32)}`,
}

function start(storage: Storage = memoryStorage({ rerun: true })): Service {
  const service = createService({ sandbox: true, seed, storage })
  onTestFinished(() => service.close())
  return service
}

const ids = async ({ sandbox }: Service) => {
  const { accounts, users } = await sandbox.credentials()
  return [accounts.map(({ name, client_id }) => [name, client_id]), users.map(({ email }) => email)]
}

async function expectWorking({ fetch, sandbox }: Service): Promise<void> {
  const { accounts, users } = await sandbox.credentials()
  for (const { client_id, client_secret } of [...accounts, ...users]) {
    const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
    expect((await fetch('/v4/account/oauth/token', { method: 'POST', headers })).status).toBe(200)
  }
}

test('sandbox.credentials includes what was seeded later', async () => {
  const service = start()
  const { sandbox } = service
  const first = await ids(service)
  const added = await sandbox.seed({
    accounts: [{ name: 'News' }, { name: 'News' }, { name: 'Shop', ...own }],
    users: [{ email: ' Bea@Example.test' }, { email: 'cy@example.test', client_id: `mid_${'2'.repeat(32)}` }],
  })
  const [accounts, users] = await ids(service)
  expect(accounts).toEqual([...(first[0] ?? []), ...added.accounts.map(({ name, client_id }) => [name, client_id])])
  expect(new Set(accounts?.map(([, id]) => id)).size).toBe(5)
  expect(users).toEqual(['ada@example.test', 'bea@example.test', 'cy@example.test'])
  await expectWorking(service)
  await sandbox.reset()
  expect(await ids(service)).toEqual(first)
})

test('a later process finds the credentials that the key made', async () => {
  const storage = memoryStorage()
  const service = start(storage)
  await service.sandbox.seed({
    accounts: [{ name: 'News' }, { name: 'Shop', ...own }],
    users: [{ email: 'bea@example.test' }],
  })
  const state = await service.sandbox.snapshot()
  const later = start()
  await later.sandbox.restore(state)
  const [accounts, users] = await ids(later)
  expect(accounts?.map(([name]) => name)).toEqual(['News', 'News', 'News'])
  expect(users).toEqual(['ada@example.test', 'bea@example.test'])
  await expectWorking(later)
})

test('credentials of others are not among them', async () => {
  const service = start()
  const { sandbox, fetch } = service
  const before = await ids(service)
  await fetch('/v4/account', { method: 'POST' })
  await sandbox.signIn('eve@example.test')
  await expect(sandbox.seed({ accounts: [{ name: 'Gone' }], users: [{ email: 'ada@example.test' }] })).rejects.toThrow(
    'ada@example.test',
  )
  expect(await ids(service)).toEqual(before)
})
