import { expect, it } from 'vitest'
import type { Answer, Call } from '../support/api.js'
import { attacked } from '../support/scenes/attacked.js'
import { newShop, type Shop } from '../support/scenes/catalog.js'
import { expectProblem } from '../support/scenes/market.js'
import { newDelegate, newPersona, twinIdOf } from '../support/scenes/personas.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { balanceOf, newPayer, type Payer } from '../support/scenes/world.js'

/** An order that names one twin and brings the delegate of another: nobody pays from a wallet that the order does not name. */

const upstream = useUpstream()
const startService = attacked()

interface Scene extends Shop {
  readonly call: Call
  /** Whose delegate lets the payer spend. */
  readonly giver: Payer
  readonly delegate: string
}

async function start(): Promise<Scene> {
  const { call } = await startService()
  const shop = await newShop(call, { service_schema: { type: 'object' }, external_endpoint: `${upstream.url}/ok` })
  const giver = await newPayer(call, shop.seller, { balance: 10 })
  const persona = await newPersona(call, giver)
  const spend = { party: { client_id: shop.payer.clientId }, limit: 5, dq: shop.item.dq }
  const given = { persona: persona.hash, hostname: shop.payer.hostname, spend }
  const { hash: delegate } = await newDelegate(call, { token: giver.token }, given)
  return { call, ...shop, giver, delegate }
}

type Pay = (scene: Scene, body: object) => Promise<Answer>

it.each<[door: string, pay: Pay]>([
  [
    'a payment',
    ({ call, payer, item }, body) => call('POST', `/v4/payment/${item.commodity_hash}`, { token: payer.token, body }),
  ],
  [
    'a purchase',
    ({ call, payer, item }, body) =>
      call('POST', `/v4/catalog/items/${item.id}/purchases`, { token: payer.token, body }),
  ],
  [
    'a cart',
    async ({ call, payer: { token }, item }, body) => {
      const { id } = (await call('POST', '/v4/carts', { token })).body
      await call('POST', `/v4/carts/${id}/items`, { token, body: { catalog_item_id: item.id } })
      return call('POST', `/v4/carts/${id}/pay`, { token, body })
    },
  ],
])('%s', async (_, pay) => {
  const scene = await start()
  const { call, payer, giver, delegate } = scene
  const held = async () => [
    await balanceOf(call, payer.token, payer.hostname),
    await balanceOf(call, giver.token, giver.hostname),
  ]
  const persona_delegate = delegate
  for (const hostname of [payer.hostname, `41${'0'.repeat(30)}.twin.localhost`, '999'])
    expectProblem(await pay(scene, { persona_delegate, hostname }), 403, 'not_owner')
  expect(await held()).toEqual([10, 10])
  const own = await twinIdOf(call, giver.token, giver.hostname)
  for (const named of [{}, { hostname: giver.hostname }, { hostname: String(own) }])
    expect((await pay(scene, { persona_delegate, ...named })).status).toBeLessThan(300)
  expect(await held()).toEqual([10, 9.25])
})
