import { describe, expect, it } from 'vitest'
import { attacked } from '../support/scenes/attacked.js'
import { newItem, postItem } from '../support/scenes/catalog.js'
import { expectProblem, fund } from '../support/scenes/market.js'
import { newApp, signInAt, startInteraction } from '../support/scenes/oidc.js'
import { newSeller } from '../support/scenes/world.js'

/** Names in which there is nothing to see. People who pay read the name of a seller, and a blank one hides who that is. */

const startService = attacked()
const NAME = 'Ada’s Shop'
/** A space, one that does not break, a wide one, and the empty pattern of Braille. */
const BLANKS = ['', ' ', '\u00a0', '\u3000  ', '\u2800', '\u2800 \u2800']

const startShop = async () => {
  const { call } = await startService()
  const seller = await newSeller(call)
  const name = (names: object) => call('PUT', '/v4/account', { token: seller.token, body: names })
  return { call, seller, name }
}

describe.each(BLANKS)('the blank name %j', (blank) => {
  it('of a business is none: buyers see the name of the account', async () => {
    const { call, seller, name } = await startShop()
    const { id } = await newItem(call, seller)
    const shown = async () => (await call('GET', `/v4/catalog/items/${id}`)).body.seller
    await name({ name: NAME, businessName: blank })
    expect(await shown()).toBe(NAME)
    await name({ name: blank, businessName: NAME })
    expect(await shown()).toBe(NAME)
  })

  it('of an account is none: buyers and invited people see the hostname', async () => {
    const { call, seller, name } = await startShop()
    const { id, hostname } = await newItem(call, seller)
    await name({ name: blank, businessName: blank })
    expect((await call('GET', `/v4/catalog/items/${id}`)).body.seller).toBe(hostname)
    const { twins } = (await call('GET', '/v4/twins', seller)).body
    const from = twins.at(-1).hostname
    await fund(call, from, 5)
    const invited = { address: 'eve@example.test', amount: 1 }
    expect((await call('POST', '/v4/transfer', { token: seller.token, body: invited })).status).toBe(201)
    const [mail] = (await call('GET', '/_sandbox/outbox?to=eve@example.test')).body.messages
    expect(mail.subject).toBe(`${from} sends you 1.00 USD`)
  })

  it('is refused for an item, its receipt line and a persona', async () => {
    const { call, seller } = await startShop()
    const item = {
      name: 'Weather',
      description: '',
      price: 0.25,
      service_method: 'GET',
      service_schema: { type: 'object' },
    }
    const sold = { ...item, external_endpoint: 'https://weather.example.test/now' }
    const dq = (await call('GET', '/v4/dq')).body.digital_quantities[0]
    const twin = (await call('POST', '/v4/twin', { token: seller.token, body: { dq } })).body
    expectProblem(await postItem(call, seller, { ...sold, name: blank }), 400, 'field_invalid')
    expectProblem(await postItem(call, seller, { ...sold, descriptor: blank }), 400, 'field_invalid')
    const commodity = { descriptor: blank, dq, cost: 1, twin_id: twin.id }
    expectProblem(await call('POST', '/v4/commodity', { token: seller.token, body: commodity }), 400, 'field_invalid')
    const persona = { name: blank, twin_id: twin.id }
    expectProblem(await call('POST', '/v4/persona', { token: seller.token, body: persona }), 400, 'field_invalid')
  })

  it('of an app is none', async () => {
    const { call } = await startShop()
    const app = await newApp(call, { client_name: blank })
    const path = await startInteraction(call, app)
    const { session } = await signInAt(call, path, 'ada@example.test')
    expect((await call('GET', path, { session })).text).toContain(`The app ${app.id.slice(0, 12)}…`)
  })
})
