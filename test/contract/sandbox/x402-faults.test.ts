import { expect, it } from 'vitest'
import type { Fault } from '../../../src/index.js'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectSoundLedger, setClock } from '../../support/scenes/market.js'
import { challengeIn, payByMpp } from '../../support/scenes/mpp.js'
import { callItem, newPaidShop, offerIn, payHeader, payHeaderV1 } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { heldBy, newWallet, paymentOf, paymentV1Of, SHOP, settle, verify } from '../../support/scenes/x402.js'

const upstream = useUpstream()

const SETTLE = { operation_id: 'settleX402Payment' }
const NOW = Date.UTC(2031, 4, 1, 12)

const arm = async (call: Call, fault: Fault) =>
  expect((await call('POST', '/_sandbox/faults', { body: fault })).status).toBe(201)
const hostile = (call: Call, x402: Fault['do']['x402'], more: object = {}) =>
  arm(call, { match: SETTLE, at: 'after_commit', do: { x402 }, ...more })
const disarm = (call: Call) => call('DELETE', '/_sandbox/faults')

/** What was moved. */
async function moved(call: Call, payer: string) {
  await expectSoundLedger(call)
  return [await heldBy(call, payer), await heldBy(call, SHOP)]
}

/** A payment of one cent, and the receipt that the ledger has of it. */
async function aPayment(call: Call) {
  const { address: payer, ...account } = await newWallet(call)
  const payment = await paymentOf({ address: payer, ...account })
  return { payer, payment }
}

const HASH = expect.stringMatching(/^0x[0-9a-f]{64}$/)

contract('A hostile settlement', (start) => {
  it('says that it failed, and has moved the amount', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    await hostile(call, 'success_false', { times: 1 })
    const { payer, payment } = await aPayment(call)
    // A fault that changes a receipt leaves what is none alone.
    expect((await verify(call, payment)).body.isValid).toBe(true)
    const { status, body } = await settle(call, payment)
    expect([status, body]).toEqual([
      200,
      {
        ...{ success: false, errorReason: 'unexpected_settle_error', errorMessage: expect.any(String) },
        ...{ transaction: '', network: 'eip155:84532', payer },
      },
    ])
    expect(await moved(call, payer)).toEqual([0.99, 0.01])
    expect((await settle(call, payment)).body.errorReason).toBe('invalid_exact_evm_nonce_already_used')
  })

  it('is pending once, and the next settle of the authorization has the receipt', async () => {
    const { call } = await start()
    await hostile(call, 'settlement_pending')
    const { payer, payment } = await aPayment(call)
    const { body: pending } = await settle(call, payment)
    expect(pending).toEqual({
      ...{ success: false, errorReason: 'settlement_pending', errorMessage: expect.any(String) },
      ...{ transaction: HASH, network: 'eip155:84532', payer },
    })
    expect(await moved(call, payer)).toEqual([0.99, 0.01])
    const { transaction } = pending
    const receipt = { success: true, transaction, network: 'eip155:84532', payer, amount: '10000' }
    expect((await settle(call, payment)).body).toEqual(receipt)
    expect((await settle(call, payment)).body).toEqual(receipt)
    expect(await moved(call, payer)).toEqual([0.99, 0.01])
    const other = await settle(call, (await aPayment(call)).payment)
    expect(other.body.errorReason).toBe('settlement_pending')
  })

  it('is pending once for a payment that its payer named, and in version 1', async () => {
    const { call } = await start()
    await hostile(call, 'settlement_pending')
    const account = await newWallet(call)
    const extensions = { 'payment-identifier': { info: { id: 'pay_7d5d747be160e280' } } }
    for (const payment of [await paymentOf(account, { extensions }), await paymentV1Of(account)]) {
      const [first, second] = [await settle(call, payment), await settle(call, payment)]
      expect(first.body.errorReason).toBe('settlement_pending')
      expect([second.body.success, second.body.transaction]).toEqual([true, first.body.transaction])
      expect(second.body.network).toBe(first.body.network)
    }
    expect(await moved(call, account.address)).toEqual([0.98, 0.02])
  })

  it('is pending for ever', async () => {
    const { call } = await start()
    await hostile(call, 'settlement_pending_always')
    const { payer, payment } = await aPayment(call)
    const answers = [await settle(call, payment), await settle(call, payment), await settle(call, payment)]
    for (const { body } of answers) expect(body).toEqual(answers[0]?.body)
    expect(answers[0]?.body).toMatchObject({ success: false, errorReason: 'settlement_pending', transaction: HASH })
    expect(await moved(call, payer)).toEqual([0.99, 0.01])
  })

  it('names a payer who did not pay', async () => {
    const { call } = await start()
    await hostile(call, 'wrong_payer')
    const { payer, payment } = await aPayment(call)
    const { body } = await settle(call, payment)
    expect(body).toMatchObject({ success: true, amount: '10000', transaction: HASH })
    expect(body.payer).toMatch(/^0x[0-9a-fA-F]{40}$/)
    expect(body.payer).not.toBe(payer)
    expect(await moved(call, payer)).toEqual([0.99, 0.01])
    expect(await heldBy(call, body.payer)).toBeUndefined()
  })

  it('has the receipt of another payment, or of none', async () => {
    const { call } = await start()
    await hostile(call, 'other_receipt')
    const first = await aPayment(call)
    const { body: made } = await settle(call, first.payment)
    expect(made).toMatchObject({ success: true, transaction: HASH })
    expect(made.payer).not.toBe(first.payer)
    await disarm(call)
    const other = await aPayment(call)
    const { body: theirs } = await settle(call, other.payment)
    await hostile(call, 'other_receipt')
    const { payer, payment } = await aPayment(call)
    const { body } = await settle(call, payment)
    expect([body.success, body.transaction, body.payer]).toEqual([true, theirs.transaction, other.payer])
    expect(await moved(call, payer)).toEqual([0.99, 0.03])
  })

  it('answers after the authorization has ended, and says that it settled', async () => {
    const { call } = await start()
    await setClock(call, NOW)
    await hostile(call, 'late', { times: 1 })
    const account = await newWallet(call)
    const payment = await paymentOf(account, { validBefore: NOW / 1000 + 60 })
    expect((await settle(call, payment)).body.success).toBe(true)
    const clock = await call('GET', '/_sandbox/clock')
    expect(Date.parse(clock.body.now)).toBeGreaterThanOrEqual(NOW + 61_000)
    expect(await moved(call, account.address)).toEqual([0.99, 0.01])
    expect((await settle(call, payment)).body.errorReason).toBe('invalid_exact_evm_payload_authorization_valid_before')
  })

  it('is hostile to the one request that asks for it by a header', async () => {
    const { call } = await start()
    const { payer, payment } = await aPayment(call)
    const headers = { 'x-sandbox-fault': 'after_commit; x402=success_false' }
    expect((await call('POST', '/x402/settle', { body: payment, headers })).body.success).toBe(false)
    expect(await moved(call, payer)).toEqual([0.99, 0.01])
  })
})

contract('A hostile facilitator', (start) => {
  it('loses the answer, answers 5xx, verifies and then refuses, or is slow: as any operation', async () => {
    const { call, fetch, url } = await start()
    const account = await newWallet(call)
    const lost: Fault['do'][] = [{ drop: true }, { status: 502 }]
    for (const action of lost) {
      await arm(call, { match: SETTLE, at: 'after_commit', do: action, times: 1 })
      const payment = await paymentOf(account)
      const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(payment) }
      const answer = await fetch(new Request(`${url}/x402/settle`, sent)).catch(() => undefined)
      expect(answer?.status).toBe(action.drop ? undefined : 502)
      expect((await settle(call, payment)).body.errorReason).toBe('invalid_exact_evm_nonce_already_used')
    }
    expect(await moved(call, account.address)).toEqual([0.98, 0.02])
    const body = { success: false, errorReason: 'invalid_transaction_state', transaction: '', network: 'eip155:84532' }
    await arm(call, { match: SETTLE, at: 'before', do: { status: 200, body }, times: 1 })
    const payment = await paymentOf(account)
    expect((await verify(call, payment)).body.isValid).toBe(true)
    expect((await settle(call, payment)).body).toEqual(body)
    await arm(call, { match: SETTLE, at: 'after_commit', do: { delay_ms: 1 }, times: 1 })
    expect((await settle(call, payment)).body.success).toBe(true)
    expect(await moved(call, account.address)).toEqual([0.97, 0.03])
  })
})

contract('A hostile shop', (start) => {
  const at = () => ({ external_endpoint: `${upstream.url}/ok` })
  const CALL = { path: '/v4/catalog/items/*/call' }

  it('asks for more once a payment comes, which the new price pays', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at())
    await arm(call, { match: CALL, at: 'before', do: { raise_price: 50 }, times: 2 })
    const account = await newWallet(call)
    const offer = offerIn(await callItem(call, item))
    // Nobody has paid yet, so that the price stands.
    expect(offerIn(await callItem(call, item)).accepted.amount).toBe('10000')
    const second = await callItem(call, item, await payHeader(account, offer))
    expect(second.body).toMatchObject({ accepts: [{ maxAmountRequired: '15000' }] })
    expect(offerIn(second).accepted.amount).toBe('15000')
    const third = await callItem(call, item, await payByMpp(call, account, item))
    expect(challengeIn(third).request.amount).toBe('22500')
    const paid = await callItem(call, item, await payHeaderV1(account, third))
    expect(paid.status, paid.text).toBe(200)
    expect(await heldBy(call, account.address)).toBe(0.9775)
    await expectSoundLedger(call)
  })

  it('raises no price for the key of another scheme, for another operation, or by GET of a payment', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at())
    await arm(call, { match: {}, at: 'before', do: { raise_price: 50 } })
    await callItem(call, item, { authorization: 'Bearer Payment' })
    await call('GET', `/v4/catalog/items/${item.id}`, { headers: { 'x-payment': 'e30=' } })
    expect(offerIn(await callItem(call, item)).accepted.amount).toBe('10000')
  })

  it('puts an expensive offer behind one that the client cannot pay', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at())
    const account = await newWallet(call)
    const honest = await callItem(call, item)
    await arm(call, { match: CALL, at: 'after_commit', do: { x402: 'expensive_offer' } })
    const unpaid = await callItem(call, item)
    const { accepts } = offerIn(unpaid)
    expect(accepts).toMatchObject([
      { network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', amount: '10000' },
      { network: 'eip155:84532', amount: '500000', payTo: offerIn(honest).accepted.payTo },
    ])
    expect(unpaid.body.accepts).toMatchObject([
      { network: 'solana-devnet', maxAmountRequired: '10000' },
      { network: 'base-sepolia', maxAmountRequired: '500000' },
    ])
    expect(challengeIn(unpaid).request.amount).toBe('10000')
    expect({ ...unpaid.body, accepts: [] }).toEqual({ ...honest.body, accepts: [] })
    const dear = { ...offerIn(unpaid), accepted: accepts[1] }
    expect((await callItem(call, item, await payHeader(account, dear))).status).toBe(402)
    expect(await heldBy(call, account.address)).toBe(1)
    // What is paid, and what is no offer, stays as it is.
    expect((await callItem(call, item, await payHeader(account, offerIn(honest)))).status).toBe(200)
    expect((await callItem(call, { id: 999 })).status).toBe(404)
    expect((await call('GET', '/_sandbox/faults')).body.faults[0].fired).toBe(2)
  })
})
