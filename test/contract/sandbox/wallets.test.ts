import { expect, it, test } from 'vitest'
import { createService } from '../../../src/index.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { modern, send } from '../../support/mcp/mcp.js'
import { expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import { newPayer, newSeller, newUser } from '../../support/scenes/world.js'
import {
  fundAddress,
  heldBy,
  newAccount,
  paymentOf,
  SHOP,
  settle,
  USDC_DQ,
  walletsOf,
} from '../../support/scenes/x402.js'

const KEY = `0x${'1'.repeat(64)}`
/** The address of that key. */
const OF_KEY = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'

contract('linkWallet', (start) => {
  it('POST /_sandbox/wallets links a derived key to a twin, the same each time', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { hostname },
    } = await startWith(start, newUser)
    const { status, body } = await call('POST', '/_sandbox/wallets', { body: { twin: hostname } })
    expect([status, body]).toEqual([
      201,
      {
        address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
        hostname,
        balances: expect.any(Object),
        private_key: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      },
    ])
    expect((await call('POST', '/_sandbox/wallets', { body: { twin: hostname } })).body).toEqual(body)
    expect(await walletsOf(call)).toEqual([body])
  })

  it('never stores or shows a key that it was given', async () => {
    const {
      call,
      state,
      made: { hostname },
    } = await startWith(start, newUser)
    const { body } = await call('POST', '/_sandbox/wallets', { body: { twin: hostname, private_key: KEY } })
    expect(body).toEqual({ address: OF_KEY, hostname, balances: expect.any(Object) })
    expect(JSON.stringify(await state())).not.toContain('1'.repeat(64))
    const journal = await call('GET', '/_sandbox/requests?limit=100')
    expect(journal.text).toContain('linkWallet')
    expect(journal.text).not.toContain('1'.repeat(64))
  })

  it('refuses what is not there, and an address that pays already', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const [one, two] = [await newPayer(call, seller), await newPayer(call, seller)]
    const link = (body: object) => call('POST', '/_sandbox/wallets', { body })
    expectProblem(await link({ twin: 'nobody.twin.localhost' }), 404, 'not_found')
    expectProblem(await link({ delegate: `41${'0'.repeat(64)}` }), 404, 'not_found')
    expectProblem(await link({ connection: 999 }), 404, 'not_found')
    for (const body of [{}, { twin: one.hostname, connection: 1 }])
      expectProblem(await link(body), 400, 'field_invalid')
    const other = { twin: one.hostname, private_key: KEY, address: SHOP }
    expectProblem(await link(other), 400, 'field_invalid')
    expect((await link({ twin: one.hostname, private_key: KEY })).status).toBe(201)
    expectProblem(await link({ twin: two.hostname, address: OF_KEY }), 409, 'already_exists')
    const { address } = newAccount()
    await fundAddress(call, address, 1)
    expectProblem(await link({ twin: two.hostname, address }), 409, 'already_exists')
  })
})

contract('listWallets', (start) => {
  it('GET /_sandbox/wallets lists what was linked and what was funded', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const { address } = newAccount()
    const { body: funded } = await fundAddress(call, address, 5)
    expect(funded).toMatchObject({ dq: USDC_DQ, amount: 5, balance: 5 })
    expect(await walletsOf(call)).toEqual([{ address, hostname: funded.hostname, balances: { [USDC_DQ]: 5 } }])
  })
})

contract('fundTwin', (start) => {
  it('POST /_sandbox/fund takes an address in any case, and one of hostname, email and address', async () => {
    const { call } = await start()
    const { address } = newAccount()
    for (const each of [address, address.toLowerCase()]) expect((await fundAddress(call, each, 1)).status).toBe(200)
    expect(await heldBy(call, address)).toBe(2)
    const both = { address, hostname: 'a.twin.localhost', amount: 1 }
    expectProblem(await call('POST', '/_sandbox/fund', { body: both }), 400, 'field_invalid')
    const refused = await call('POST', '/_sandbox/fund', { body: { address: '0x1', amount: 1 } })
    expectProblem(refused, 400, 'field_invalid')
    await expectSoundLedger(call)
  })

  it('is a tool of coding agents, which funds an address', async () => {
    const { call } = await start()
    const { address } = newAccount()
    const { message, headers } = modern('tools/call', { name: 'fund', arguments: { address, amount: 3 } })
    await send(call, message, { path: '/_sandbox/mcp', headers })
    expect(await heldBy(call, address)).toBe(3)
  })
})

contract('A transfer', (start) => {
  it('POST /v4/transfer reaches the twin of an address, whose holder can spend it', async () => {
    const { call, made: payer } = await startWith(start, newUser, { balance: 2 })
    const account = newAccount()
    const { hostname } = (await fundAddress(call, account.address, 1)).body
    const body = { address: hostname, amount: 1 }
    expect((await call('POST', '/v4/transfer', { token: payer.token, body })).body.status).toBe('completed')
    expect((await settle(call, await paymentOf(account))).body.success).toBe(true)
    await expectSoundLedger(call)
  })
})

test('a seed links wallets, again after each reset, and the method lists them', async () => {
  const user = { email: 'ada@example.test', hostname: 'ada.twin.localhost' }
  const seed = {
    users: [user],
    accounts: [{ name: 'Shop' }],
    wallets: [
      { user: user.email, balance: 2, private_key: KEY },
      { account: 'Shop', balance: 1 },
    ],
  }
  const service = createService({ sandbox: true, seed })
  const { sandbox } = service
  for (let n = 0; n < 2; n++) {
    const wallets = await sandbox.wallets.list()
    expect(wallets).toHaveLength(2)
    const [ada] = wallets.filter(({ hostname }) => hostname === user.hostname)
    expect(ada).toMatchObject({ address: OF_KEY, balances: { [USDC_DQ]: 2 } })
    expect(ada).not.toHaveProperty('private_key')
    await sandbox.reset()
  }
  const added = await sandbox.seed({ users: [{ email: 'bo@example.test' }], wallets: [{ user: 'bo@example.test' }] })
  expect(added.wallets).toEqual([
    { address: expect.any(String), hostname: expect.any(String), balance: 0, private_key: expect.any(String) },
  ])
  await expect(sandbox.seed({ wallets: [{ balance: 1 }] })).rejects.toThrow('either "account" or "user"')
  const gone = { user: user.email, hostname: 'none.twin.localhost' }
  await expect(sandbox.seed({ wallets: [gone] })).rejects.toThrow('none.twin.localhost')
  expect(await sandbox.fund({ address: SHOP, amount: 4 })).toMatchObject({ balance: 4 })
  await service.close()
})
