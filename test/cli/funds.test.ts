import { privateKeyToAccount } from 'viem/accounts'
import { expect, onTestFinished, test } from 'vitest'
import { fund, x402Env } from '../../sandbox/commands/funds.js'
import { demo } from '../../sandbox/seed/demo.js'
import { createService, type Seed } from '../../src/index.js'
import { caller } from '../support/api.js'
import { heldBy, newAccount, paymentOf, settle, USDC_DQ } from '../support/scenes/x402.js'

function start(seed: Seed = demo.seed) {
  const lines: string[] = []
  const service = createService({ sandbox: true, seed })
  onTestFinished(() => service.close())
  const outside = {
    fetch: service.fetch as typeof fetch,
    environment: {},
    print: (line: string) => void lines.push(line),
    printText: () => {},
  }
  const flags = { url: service.baseUrl }
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }), lines, outside, flags }
}

test('farthing fund issues value to an address, a person and a hostname', async () => {
  const { call, lines, outside, flags } = start()
  const { address } = newAccount()
  await fund({ whom: address, amount: '5' }, flags, outside)
  await fund({ whom: demo.reader.email, amount: '2.5' }, flags, outside)
  await fund({ whom: demo.payer.hostname, amount: '1' }, { ...flags, dq: USDC_DQ }, outside)
  expect(lines).toEqual([
    `41${address.slice(2).toLowerCase()}.twin.localhost holds 5 USDC`,
    `${demo.reader.hostname} holds 22.5 USD`,
    `${demo.payer.hostname} holds 1 USDC`,
  ])
  expect(await heldBy(call, address)).toBe(5)
  const refused = (whom: string, amount: string) => fund({ whom, amount }, flags, outside).catch(String)
  expect(await refused('nobody.twin.localhost', '5')).toContain('No twin has the hostname')
  for (const amount of ['much', '', ' ', '0x10', '1e3', '1_000', '1,5', '-1', '+1', 'Infinity', '1.'])
    expect(await refused(address, amount)).toContain(`the amount must be a number, not "${amount}"`)
  for (const amount of ['9007199254740993', '0.1234567890123456', '1000000000.0000001'])
    expect(await refused(address, amount)).toContain(`the amount must have at most 15 digits, unlike "${amount}"`)
  expect(await refused('0x12', '5')).toContain('0x and 40 hex digits')
})

test('farthing x402 env prints a buyer that pays the shop of the demo', async () => {
  const { call, lines, outside, flags, service } = start()
  await x402Env(flags, outside)
  const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/)))
  expect(env).toEqual({
    FACILITATOR_URL: `${service.baseUrl}/x402`,
    NETWORK: 'base-sepolia',
    EVM_PRIVATE_KEY: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    PRIVATE_KEY: env.EVM_PRIVATE_KEY,
    EVM_ADDRESS: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
    ADDRESS: env.EVM_ADDRESS,
    PAY_TO: env.EVM_ADDRESS,
  })
  const account = privateKeyToAccount(env.EVM_PRIVATE_KEY)
  expect(account.address).not.toBe(env.PAY_TO)
  const held = async () => [await heldBy(call, account.address), await heldBy(call, env.PAY_TO)]
  const [paying = 0, paid = 0] = await held()
  expect((await settle(call, await paymentOf(account, { payTo: env.PAY_TO }))).body.success).toBe(true)
  expect(await held()).toEqual([paying - 0.01, paid + 0.01])
})

test('farthing x402 env says how to link a wallet where there is none', async () => {
  const { outside, flags } = start({ users: [{ email: 'ada@example.test' }] })
  expect(await x402Env(flags, outside).catch(String)).toContain('link one with POST /_sandbox/wallets')
})
