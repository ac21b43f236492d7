import { expect, it } from 'vitest'
import { attacked } from '../support/scenes/attacked.js'
import { changeItem, newItem, newShop, settledSums } from '../support/scenes/catalog.js'
import { expectProblem } from '../support/scenes/market.js'
import { paywall, setPhone } from '../support/scenes/paywall.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newSession } from '../support/scenes/world.js'

/** Only its seller's own server sells a private item. Whoever guesses its endpoint cannot buy it there, nor learn whose it is. */

const upstream = useUpstream()
const startService = attacked()

async function start() {
  const { call } = await startService()
  const serviceUrl = `${upstream.url}/ok`
  const shop = await newShop(call, { service_schema: { type: 'object' }, external_endpoint: serviceUrl })
  const { seller, item, payer } = shop
  await changeItem(call, seller, item, { private: true })
  await setPhone(call, payer, 'approve')
  return { call, ...shop, serviceUrl, sums: () => settledSums(call, shop) }
}

it('no door sells it to others', async () => {
  const { call, seller, item, payer, serviceUrl, sums } = await start()
  const session = await newSession(call, payer.email)
  const pay = (caller: object, more: object = {}) => paywall(call, caller, { amount: 0.25, serviceUrl, ...more })
  for (const caller of [{ token: payer.token }, { session }]) {
    expectProblem(await pay(caller), 400, 'destination_unknown')
    expectProblem(await pay(caller, { destination: item.hostname }), 409, 'item_inactive')
  }
  const merchant = { paymentTypeHash: item.dq, amount: 0.25, destinationUrl: serviceUrl }
  expectProblem(await call('POST', '/v3/paywall', { session, body: merchant }), 404, 'not_found')
  expect(await sums()).toEqual([10, 0])
  await changeItem(call, seller, item, { private: false })
  expect((await pay({ token: payer.token })).status).toBe(200)
  expect((await call('POST', '/v3/paywall', { session, body: merchant })).status).toBe(200)
  expect(await sums()).toEqual([9.5, 0.5])
})

it('a private item hides no public one with the same endpoint', async () => {
  const { call, seller, payer, serviceUrl } = await start()
  const fields = { name: 'Public', service_schema: { type: 'object' }, external_endpoint: serviceUrl }
  const sold = await newItem(call, seller, fields)
  expect((await paywall(call, { token: payer.token }, { amount: 0.25, serviceUrl })).status).toBe(200)
  const [payment] = (await call('GET', '/v4/payments', { token: payer.token })).body.payments
  expect(payment.payee_hostname).toBe(sold.hostname)
})

it('its seller pays for it with a delegate', async () => {
  const { call, seller, item, payer, serviceUrl } = await start()
  const persona = await newPersona(call, payer)
  const spend = { party: { client_id: seller.clientId }, limit: 5, dq: item.dq }
  const given = { persona: persona.hash, hostname: item.hostname, spend }
  const { hash: persona_delegate } = await newDelegate(call, { token: payer.token }, given)
  const paid = await paywall(call, { token: seller.token }, { amount: 0.25, serviceUrl, persona_delegate })
  expect(paid.status, paid.text).toBe(200)
})
