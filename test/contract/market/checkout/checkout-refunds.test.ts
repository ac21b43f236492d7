import { expect, it } from 'vitest'
import type { Answer, Call } from '../../../support/api.js'
import { contract, type Start } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { changeItem, guest, newCheckout, newShop, settled, withCard } from '../../../support/scenes/checkout.js'
import { expectProblem, expectSoundLedger } from '../../../support/scenes/market.js'
import { useUpstream } from '../../../support/scenes/upstream.js'
import { newSession } from '../../../support/scenes/world.js'

const upstream = useUpstream()

/** Has the state say that the processor refused to give back what it was charged; the built-in one refuses no refund. */
async function refuseRefunds(call: Call): Promise<void> {
  const { counters, rows } = (await call('GET', '/_sandbox/snapshot')).body
  const checkout_charges = rows.checkout_charges.map((charge: object) => ({
    ...{ ...charge, status: 'unrefunded', open_of: null },
    ...{ refund_id: 'refund_0', refusal: 'too long ago' },
  }))
  const body = { counters, rows: { ...rows, checkout_charges } }
  expect((await call('PUT', '/_sandbox/snapshot', { body })).status).toBeLessThan(300)
}

/** A shop with two charges that the processor refuses to give back: a guest's, then a user's. */
async function prepared(start: Start) {
  const { call, made: shop } = await startWith(start, newShop, `${upstream.url}/status/503/x`)
  const { token } = shop.seller
  const payers = [await guest(call), { session: await newSession(call, shop.payer.email) }]
  for (const payer of payers)
    expectProblem(await withCard(call, await newCheckout(call, shop), payer), 502, 'upstream_failed')
  await refuseRefunds(call)
  const list = async (query = '') => (await call('GET', `/v4/checkout/refunds${query}`, { token })).body
  const [ofUser, ofGuest] = (await list()).refunds
  const settle = ({ id }: { id: number }, outcome: string): Promise<Answer> =>
    call('POST', `/v4/checkout/refunds/${id}/settle`, { token, body: { outcome } })
  return { call, shop, list, settle, ofUser, ofGuest }
}

contract('listCheckoutRefunds', (start) => {
  it('GET /v4/checkout/refunds lists refunds that did not reach the card, newest first', async () => {
    const { call, shop, list, ofUser, ofGuest } = await prepared(start)
    expect(ofUser).toMatchObject({
      name: 'A story',
      amount: 2,
      status: 'refused',
      reason: 'too long ago',
      payer: 'user',
    })
    expect(ofGuest).toMatchObject({ payer: 'guest', email: null, charge_id: expect.stringMatching(/^ch_test_/) })
    const first = await list('?limit=1')
    expect(first).toEqual({ refunds: [ofUser], next: ofUser.id })
    expect(await list(`?limit=1&after=${first.next}`)).toEqual({ refunds: [ofGuest], next: null })
    expect(await settled(call, shop)).toMatchObject({ seller: 0, issued: 14 })
  })
})

contract('settleCheckoutRefund', (start) => {
  it('POST /v4/checkout/refunds/{id}/settle moves the value to its issuer or to the payer, once', async () => {
    const { call, shop, list, settle, ofUser, ofGuest } = await prepared(start)
    expectProblem(await settle(ofGuest, 'wallet'), 409, 'refund_outcome_refused')
    expect((await settle(ofGuest, 'returned')).body).toEqual({ id: ofGuest.id, outcome: 'returned' })
    expect((await settle(ofUser, 'wallet')).body).toEqual({ id: ofUser.id, outcome: 'wallet' })
    expect(await settled(call, shop)).toEqual({ seller: 0, payer: 12, issued: 12 })
    for (const refund of [ofUser, ofGuest]) expectProblem(await settle(refund, 'again'), 409, 'refund_settled')
    expectProblem(await settle({ id: 999 }, 'returned'), 404, 'not_found')
    expect((await list()).refunds).toEqual([])
  })

  it('retries the card processor, which refunds it', { tags: 'everywhere' }, async () => {
    const { call, settle, list, ofUser, ofGuest } = await prepared(start)
    for (const refund of [ofUser, ofGuest]) expect((await settle(refund, 'again')).status).toBe(200)
    await expect.poll(async () => (await expectSoundLedger(call)).digital_quantities[0].issued).toBe(10)
    expect((await list()).refunds).toEqual([])
  })
})

contract('A charge of a guest who signs in', (start) => {
  it('pays for their completion', async () => {
    const { call, made: shop } = await startWith(start, newShop, `${upstream.url}/status/503/x`)
    const link = await newCheckout(call, shop)
    const { session = '' } = await guest(call)
    expectProblem(await withCard(call, link, { session }), 502, 'upstream_failed')
    const user = { session: await newSession(call, 'ada@example.test', session) }
    await changeItem(call, shop, { external_endpoint: `${upstream.url}/ok` })
    expect((await withCard(call, link, user, 'pm_card_expired')).status).toBe(200)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })
})
