import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { newPayer, newSeller } from '../../support/scenes/world.js'
import { newAccount, USDC_DQ, walletsOf } from '../../support/scenes/x402.js'

contract('linkWallet', (start) => {
  it('POST /_sandbox/wallets links a derived key to a twin, the same each time', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const { hostname } = await newPayer(call, await newSeller(call))
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
})

contract('listWallets', (start) => {
  it('GET /_sandbox/wallets lists what was linked and what was funded', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const { address } = newAccount()
    const { body: funded } = await call('POST', '/_sandbox/fund', { body: { address, amount: 5 } })
    expect(funded).toMatchObject({ dq: USDC_DQ, amount: 5, balance: 5 })
    expect(await walletsOf(call)).toEqual([{ address, hostname: funded.hostname, balances: { [USDC_DQ]: 5 } }])
  })
})
