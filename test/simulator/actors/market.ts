import { hold } from '../properties/broken.js'
import type { Act } from './act.js'

/** Readers buy items of the catalog, and endpoints deliver or do not. */

const purchase: Act = {
  weight: 10,
  async run(world, draws) {
    const item = draws.pick(world.cast.items)
    const reader = draws.pick(world.cast.readers)
    const shown = await world.call('GET', `/v4/catalog/items/${item.id}`)
    if (shown.status !== 200) return
    const { price, dq } = shown.body
    // The seller changes the price before the reader has decided.
    if (draws.oneIn(4)) {
      const body = { price: price + draws.between(1, 5) / 10 }
      await world.call('PUT', `/v4/catalog/items/${item.id}`, { by: item.seller, body })
    }
    const asked = world.ask(`${reader.name} buys ${item.id} for ${price}`)
    const body = { price, dq, hostname: reader.hostname, arguments: { city: 'Oslo' } }
    const bought = await world.call('POST', `/v4/catalog/items/${item.id}/purchases`, { by: reader, asked, body })
    if (bought.status !== 201) return
    const { transaction_id, amount } = bought.body
    world.records.pay(transaction_id, { payer: reader.name, price, asked }, amount ?? price)
    await world.call('GET', `/v4/purchases/${transaction_id}`, { by: reader })
    if (draws.oneIn(3)) await world.call('GET', '/v4/purchases?limit=3', { by: reader })
  },
}

const reprice: Act = {
  weight: 4,
  async run(world, draws) {
    const item = draws.pick(world.cast.items)
    const body = { price: draws.between(1, 20) / 10 }
    await world.call('PUT', `/v4/catalog/items/${item.id}`, { by: item.seller, body })
    if (draws.oneIn(3)) await world.call('GET', '/v4/catalog/mine?limit=2', { by: item.seller })
  },
}

const checkout: Act = {
  weight: 8,
  async run(world, draws) {
    const item = draws.pick(world.cast.items)
    const body = { catalog_item_id: item.id, arguments: { city: 'Oslo' } }
    const made = await world.call('POST', '/v4/checkout', { by: item.seller, asked: world.ask('a link'), body })
    if (made.status !== 201) return
    const { token } = made.body
    const link = `/v4/checkout/${token}`
    const { body: shown } = await world.call('GET', link)
    const isLate = draws.oneIn(5)
    if (isLate) await world.timeline.wait(25 * 3_600_000)
    const complete = async (paying: object, own: object) => {
      const asked = world.ask(`${JSON.stringify(paying)} for ${token}`)
      const told = await world.call('POST', `${link}/complete`, { ...own, asked, body: paying })
      if (told.status !== 200 || told.body.status !== 'paid') return
      hold(!isLate, 'A link that has expired takes no money', told.body)
      world.records.use(`checkout ${token}`, asked.key)
    }
    const ways: (() => Promise<unknown>)[] = []
    const reader = draws.pick(world.cast.readers)
    const wallet = { hostname: reader.hostname, price: shown?.price, dq: shown?.dq }
    if (!draws.oneIn(3)) ways.push(() => complete(wallet, { by: reader }))
    if (draws.oneIn(2)) {
      const { body: guest } = await world.call('GET', '/v4/session')
      const card = { payment_method_id: draws.pick(['pm_card_visa', 'pm_card_chargeDeclined', 'pm_processor_down']) }
      if (guest?.session_id) ways.push(() => complete(card, { session: guest.session_id }))
    }
    await Promise.all(ways.map((pay) => pay()))
    await world.call('GET', link)
  },
}

const cart: Act = {
  weight: 6,
  async run(world, draws) {
    const by = draws.pick(world.cast.readers)
    const made = await world.call('POST', '/v4/carts', { by, asked: world.ask('a cart') })
    if (made.status !== 201) return
    const path = `/v4/carts/${made.body.id}`
    for (let lines = draws.between(1, 3); lines > 0; lines--) {
      const item = draws.pick(world.cast.items)
      const body = { catalog_item_id: item.id, arguments: { city: 'Oslo' }, quantity: draws.between(1, 2) }
      await world.call('POST', `${path}/items`, { by, asked: world.ask('a line'), body })
    }
    const { body: shown } = await world.call('GET', path, { by })
    const line = shown?.items?.at(-1)?.line
    if (line !== undefined && draws.oneIn(3))
      await world.call('PUT', `${path}/items/${line}`, { by, body: { quantity: 1 } })
    if (line !== undefined && draws.oneIn(5)) await world.call('DELETE', `${path}/items/${line}`, { by })
    if (draws.oneIn(6)) return void (await world.call('DELETE', path, { by }))
    const body = { hostname: by.hostname, accept_prices: true }
    await world.call('POST', `${path}/pay`, { by, asked: world.ask(`${by.name} pays cart ${path}`), body })
  },
}

const paywall: Act = {
  weight: 6,
  async run(world, draws) {
    const by = draws.pick(world.cast.readers)
    const seller = draws.pick(world.cast.sellers)
    const serviceUrl = `https://api.example.test/story/${draws.pick(['ok', 'ok', 'broken', 'torn', 'gone'])}`
    const body = { amount: draws.between(1, 9) / 10, destination: seller.hostname, serviceUrl }
    await world.call('POST', '/v4/paywall', { by, asked: world.ask(`${by.name} calls ${serviceUrl}`), body })
  },
}

export const marketActs = { purchase, reprice, checkout, cart, paywall }
