import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { newWallet, paymentOf, settle, verify } from '../../support/scenes/x402.js'

contract('listX402Kinds', (start) => {
  it('GET /x402/supported lists both versions', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const { status, body } = await call('GET', '/x402/supported')
    expect([status, body]).toEqual([
      200,
      {
        kinds: [
          { x402Version: 2, scheme: 'exact', network: 'eip155:84532' },
          { x402Version: 1, scheme: 'exact', network: 'base-sepolia' },
        ],
        extensions: ['payment-identifier', 'bazaar'],
        signers: { 'eip155:*': [expect.stringMatching(/^0x[0-9a-fA-F]{40}$/)] },
      },
    ])
  })
})

contract('settleX402Payment', (start) => {
  it('POST /x402/settle moves the signed amount once', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const payment = await paymentOf(account)
    const { address: payer } = account
    expect((await verify(call, payment)).body).toEqual({ isValid: true, payer })
    const { status, body } = await settle(call, payment)
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        network: 'eip155:84532',
        payer,
        amount: '10000',
      },
    ])
    expect((await settle(call, payment)).body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      transaction: '',
    })
  })
})
