import { expect, test } from 'vitest'
import { heldBy, newAccount, newWallet, paymentOf, paymentV1Of, settle, verify } from '../../support/scenes/x402.js'
import { newShop } from './scenes/scene.js'

/** The facilitator refuses a payment with status 200, and that is explained like any other refusal. */

test('a payer who is short of funds is explained, and funding it lets the payment pass', async () => {
  const { call, explained } = await newShop()
  const { address } = newAccount()
  const account = await newWallet(call, 0.004)
  const payment = await paymentOf(account)
  for (const answer of [await verify(call, payment), await settle(call, await paymentV1Of(account))]) {
    const why = await explained(answer)
    expect(why.verdict).toMatch(/^(verify|settle)X402Payment refused the payment: /)
    expect(why.sentences.join(' ')).toContain('It held 0.004 USDC, and the payment is of 0.01 USDC.')
    expect(why.facts).toMatchObject({ payer: account.address, held: 0.004, due: 0.01 })
    expect(why.fix).toMatchObject({
      operation_id: 'fundTwin',
      example: { body: { address: account.address, amount: 0.006 } },
    })
  }
  const { example } = (await explained(await verify(call, payment))).fix ?? expect.unreachable()
  await call(example.method, example.path, { body: example.body })
  expect((await settle(call, payment)).body.success).toBe(true)
  expect(await heldBy(call, account.address)).toBe(0)
  expect(await heldBy(call, address)).toBeUndefined()
})

test('a spent authorization is explained by the payment that spent it, and an early one by the clock', async () => {
  const { call, explained, at } = await newShop()
  const account = await newWallet(call, 1)
  const payment = await paymentOf(account)
  await settle(call, payment)
  const spent = await explained(await settle(call, payment))
  expect(spent.facts).toMatchObject({ reason: 'invalid_exact_evm_nonce_already_used', spent_by: 1 })
  expect(spent.sentences.join(' ')).toContain('Payment 1 spent this authorization at 20')
  expect(spent.fix).toBeNull()
  const early = await explained(await settle(call, await paymentOf(account, { validAfter: at / 1000 + 60 })))
  expect(early.sentences.join(' ')).toMatch(/It was signed for the time from 2\d{3}-/)
  expect(JSON.stringify([spent, early])).not.toContain(payment.paymentPayload.payload.signature)
})

test('a call of the paywall without a payment is explained by its price, and how to pay it', async () => {
  const { call, explained, item } = await newShop()
  await newWallet(call, 1)
  const order = { amount: 0.01, destination: item.hostname, serviceUrl: 'https://api.example.test/x' }
  const why = await explained(await call('POST', '/v4/paywall', { body: order }))
  expect(why.facts).toMatchObject({ price: '0.01 USDC', destination: item.hostname })
  const text = why.sentences.join(' ')
  for (const part of [
    `This call of the paywall costs 0.01 USDC, paid to ${item.hostname}.`,
    'Once it is paid, it calls https://api.example.test/x.',
    'The request had no payment in `PAYMENT-SIGNATURE`, `X-PAYMENT` or `Authorization`.',
  ])
    expect(text).toContain(part)
  const bought = { amount: 0.25, dq: item.dq, serviceUrl: item.external_endpoint }
  const other = await explained(await call('POST', '/v4/paywall', { body: bought }))
  expect(other.sentences.join(' ')).toContain('This call of the paywall costs 0.25 USD.')
})

test('an address that nobody knew is explained by the twin that it got', async () => {
  const { call, explained } = await newShop()
  const stranger = newAccount()
  const why = await explained(await settle(call, await paymentOf(stranger)))
  expect(why.sentences.join(' ')).toContain('It held 0.00 USDC')
  expect(why.facts).toMatchObject({ payer: stranger.address, owner: `wallet:${stranger.address}` })
})
