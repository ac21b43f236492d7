import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { answerApproval, newAgentShop } from '../../support/scenes/approvals.js'
import { expectProblem, expectSoundLedger, fund, stopClock } from '../../support/scenes/market.js'
import { newDelegate, newPersona } from '../../support/scenes/personas.js'
import { newPayer, newSeller } from '../../support/scenes/world.js'
import {
  fundAddress,
  heldBy,
  newAccount,
  newWallet,
  paymentOf,
  paymentV1Of,
  SHOP,
  settle,
  USDC_DQ,
  VECTOR,
  verify,
  walletsOf,
} from '../../support/scenes/x402.js'

const ID = 'pay_7d5d747be160e280504c099d984bcfe0'
const named = (id = ID) => ({ 'payment-identifier': { info: { required: false, id }, schema: {} } })

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

contract('verifyX402Payment', (start) => {
  it('POST /x402/verify says that a payment would pay, in both versions', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const account = await newWallet(call)
    const valid = { isValid: true, payer: account.address }
    expect((await verify(call, await paymentOf(account))).body).toEqual(valid)
    expect((await verify(call, await paymentV1Of(account))).body).toEqual(valid)
  })

  it('writes nothing but the twin of an unknown address, which holds nothing', async () => {
    const { call, state } = await start()
    const account = await newWallet(call)
    await verify(call, await paymentOf(newAccount()))
    const before = await state()
    expect((await verify(call, await paymentOf(account))).body.isValid).toBe(true)
    expect((await state()).rows).toEqual(before.rows)
    const stranger = newAccount()
    const refused = await verify(call, await paymentOf(stranger, { extensions: named() }))
    expect(refused.body).toEqual({
      isValid: false,
      invalidReason: 'invalid_exact_evm_insufficient_balance',
      invalidMessage: expect.stringContaining('farthing fund'),
      payer: stranger.address,
    })
    const { rows } = await state()
    const changed = Object.keys(rows).filter((name) => rows[name]?.length !== before.rows[name]?.length)
    expect(changed.sort()).toEqual(['balances', 'twins'])
    expect(await heldBy(call, stranger.address)).toBe(0)
  })

  it('makes no twin for a signature that is wrong', async () => {
    const { call } = await start()
    const payment = await paymentOf(newAccount())
    payment.paymentPayload.payload.authorization.value = '10001'
    expect((await verify(call, payment)).body.invalidReason).toBe('invalid_exact_evm_signature')
    expect(await walletsOf(call)).toEqual([])
  })

  it('refuses what is malformed, with the field', async () => {
    const { call } = await start()
    const payment = await paymentOf(newAccount())
    const v1 = await paymentV1Of(newAccount())
    const malformed = [
      {},
      { ...payment, x402Version: 3 },
      { ...payment, x402Version: 1 },
      { ...payment, paymentRequirements: v1.paymentRequirements },
      { ...payment, paymentRequirements: { ...payment.paymentRequirements, amount: '-1' } },
      { ...payment, paymentRequirements: { ...payment.paymentRequirements, payTo: 'nobody' } },
      { ...payment, paymentPayload: { ...payment.paymentPayload, payload: 'x' } },
    ]
    for (const body of malformed) expectProblem(await verify(call, body), 400, 'field_invalid')
    for (const id of ['short', `${ID}!`, 'x'.repeat(129)])
      expectProblem(await verify(call, await paymentOf(newAccount(), { extensions: named(id) })), 400, 'field_invalid')
  })

  it('refuses a payment identifier that names another payment', async () => {
    const { call } = await start()
    const account = await newWallet(call)
    expect((await settle(call, await paymentOf(account, { extensions: named() }))).body.success).toBe(true)
    const other = await paymentOf(account, { extensions: named(), amount: '20000' })
    expectProblem(await verify(call, other), 409, 'payment_identifier_mismatch')
  })
})

contract('settleX402Payment', (start) => {
  it('POST /x402/settle moves the signed amount, once', { tags: ['everywhere', 'pages', 'worker'] }, async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const payment = await paymentOf(account)
    const { address: payer } = account
    const { status, body } = await settle(call, payment)
    const transaction = expect.stringMatching(/^0x[0-9a-f]{64}$/)
    expect([status, body]).toEqual([
      200,
      { success: true, transaction, network: 'eip155:84532', payer, amount: '10000' },
    ])
    const refused = { errorReason: 'invalid_exact_evm_nonce_already_used', errorMessage: expect.any(String) }
    expect((await settle(call, payment)).body).toEqual({
      ...{ success: false, ...refused, transaction: '', network: 'eip155:84532', payer },
    })
    expect([await heldBy(call, payer), await heldBy(call, SHOP)]).toEqual([0.99, 0.01])
    await expectSoundLedger(call)
  })

  it('settles in version 1, whose reasons are those of its specification', async () => {
    const { call } = await start()
    const account = await newWallet(call, 0.015)
    const payment = await paymentV1Of(account)
    expect((await settle(call, payment)).body).toMatchObject({ success: true, network: 'base-sepolia' })
    expect((await settle(call, payment)).body.errorReason).toBe('invalid_transaction_state')
    const another = await settle(call, await paymentV1Of(account))
    expect(another.body).toMatchObject({ success: false, errorReason: 'insufficient_funds', transaction: '' })
  })

  it('settles the example of the specification', async () => {
    const { call } = await start()
    const body = { x402Version: 2, paymentPayload: VECTOR, paymentRequirements: VECTOR.accepted }
    await fundAddress(call, VECTOR.payload.authorization.from, 0.01)
    expect((await settle(call, body)).body.errorReason).toBe('invalid_exact_evm_payload_authorization_valid_before')
    await stopClock(call, 1_740_672_100_000)
    expect((await settle(call, body)).body).toMatchObject({ success: true, amount: '10000' })
    expect(await heldBy(call, VECTOR.payload.authorization.from)).toBe(0)
  })

  it('answers a payment that its payer named with the first receipt, under another signature too', async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const payment = await paymentOf(account, { extensions: named() })
    const { body } = await settle(call, payment)
    expect(body.success).toBe(true)
    expect((await settle(call, payment)).body).toEqual(body)
    expect((await settle(call, await paymentOf(account, { extensions: named() }))).body).toEqual(body)
    expect(await heldBy(call, account.address)).toBe(0.99)
    // Names are the payer's own.
    const other = await newWallet(call, 1)
    const theirs = await settle(call, await paymentOf(other, { extensions: named() }))
    expect(theirs.body.success).toBe(true)
    expect(theirs.body.transaction).not.toBe(body.transaction)
  })

  it('refuses a payment identifier that names another payment', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    await settle(call, await paymentOf(account, { extensions: named() }))
    for (const other of [{ amount: '20000' }, { payTo: newAccount().address }, { resource: 'https://other.test/' }])
      expectProblem(
        await settle(call, await paymentOf(account, { extensions: named(), ...other })),
        409,
        'payment_identifier_mismatch',
      )
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it('forgets a payment identifier with the payment that did not land', async () => {
    const { call } = await start()
    const account = newAccount()
    const payment = await paymentOf(account, { extensions: named() })
    expect((await settle(call, payment)).body.success).toBe(false)
    await fundAddress(call, account.address, 1)
    expect((await settle(call, payment)).body.success).toBe(true)
  })

  it('refuses to pay oneself, and moves nothing', async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const { body } = await settle(call, await paymentOf(account, { payTo: account.address }))
    expect(body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_transaction_failed',
      errorMessage: expect.stringContaining('same_twin'),
    })
  })

  it('pays a linked wallet, and from one', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const buyer = await newPayer(call, seller)
    const shop = await newPayer(call, seller)
    const link = async (twin: string, given = {}) =>
      (await call('POST', '/_sandbox/wallets', { body: { twin, ...given } })).body
    const account = newAccount()
    await link(buyer.hostname, { address: account.address })
    const { address: payTo } = await link(shop.hostname)
    await fundAddress(call, account.address, 1)
    expect((await settle(call, await paymentOf(account, { payTo }))).body.success).toBe(true)
    const balances = (await call('GET', `/v4/twin/${shop.hostname}`, shop)).body.balances
    expect(balances[USDC_DQ]).toBe(0.01)
    const [payment] = (await call('GET', '/v4/payments', buyer)).body.payments
    expect(payment).toMatchObject({ kind: 'x402', amount: 0.01, descriptor: 'https://shop.example.test/report' })
  })

  it("spends a delegate's authority, up to its limit", async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const owner = await newPayer(call, seller)
    await fund(call, owner.hostname, 1)
    await fundAddress(call, newAccount().address, 1)
    const persona = await newPersona(call, owner)
    const spend = { party: { client_id: seller.clientId }, dq: USDC_DQ, limit: 0.015 }
    const delegate = await newDelegate(call, owner, { persona: persona.hash, hostname: owner.hostname, spend })
    await fund(call, persona.hostname, 1, USDC_DQ)
    const account = newAccount()
    const link = { delegate: delegate.hash, address: account.address }
    expect((await call('POST', '/_sandbox/wallets', { body: link })).status).toBe(201)
    expect((await settle(call, await paymentOf(account))).body.success).toBe(true)
    const beyond = await paymentOf(account)
    for (const answer of [await verify(call, beyond), await settle(call, beyond)])
      expect(answer.body.invalidReason ?? answer.body.errorReason).toBe('delegate_refused')
  })

  it("needs an approval above the threshold of an app's user, and spends it with the same terms", async () => {
    const { call, payer, wallet } = await newAgentShop(start)
    await fundAddress(call, newAccount().address, 1)
    await fund(call, wallet, 1, USDC_DQ)
    const [{ id: connection }] = (await call('GET', '/v4/connections', payer)).body.connections
    const account = newAccount()
    const link = { connection, address: account.address }
    expect((await call('POST', '/_sandbox/wallets', { body: link })).body.hostname).toBe(wallet)
    const verified = await verify(call, await paymentOf(account))
    expect(verified.body).toMatchObject({ isValid: false, invalidReason: 'approval_required' })
    const payment = await paymentOf(account)
    const { body } = await settle(call, payment)
    expect(body.errorReason).toBe('approval_required')
    const [, id = ''] = /approvals\/([\w-]+)/.exec(body.errorMessage) ?? []
    expect((await answerApproval(call, payer, id)).body.status).toBe('approved')
    // Terms are what is bought, not the signature.
    expect((await verify(call, await paymentOf(account))).body.isValid).toBe(true)
    expect((await settle(call, payment)).body.success).toBe(true)
    const again = await settle(call, await paymentOf(account))
    expect(again.body.errorReason).toBe('approval_required')
    const v1 = await settle(call, await paymentV1Of(account))
    expect(v1.body).toMatchObject({
      errorReason: 'invalid_transaction_state',
      errorMessage: expect.stringContaining('approval_required'),
    })
    await expectSoundLedger(call)
  })

  it('pays within the threshold of the user without an approval, and nothing once the app is disconnected', async () => {
    const { call, payer, wallet } = await newAgentShop(start)
    await fundAddress(call, newAccount().address, 1)
    await fund(call, wallet, 1, USDC_DQ)
    const [{ id: connection }] = (await call('GET', '/v4/connections', payer)).body.connections
    const account = newAccount()
    await call('POST', '/_sandbox/wallets', { body: { connection, address: account.address } })
    const settings = { approval_threshold: { [USDC_DQ]: 0.01 } }
    expect((await call('PUT', '/v4/agent/settings', { ...payer, body: settings })).status).toBe(200)
    expect((await settle(call, await paymentOf(account))).body.success).toBe(true)
    expect((await settle(call, await paymentOf(account, { amount: '10001' }))).body.errorReason).toBe(
      'approval_required',
    )
    await call('DELETE', `/v4/connections/${connection}`, payer)
    const { body } = await settle(call, await paymentOf(account))
    expect(body).toMatchObject({ success: false, errorMessage: expect.stringContaining('token_invalid') })
  })
})
