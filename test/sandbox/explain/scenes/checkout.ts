import { expect } from 'vitest'
import { filledCart, newCart, payCart, readCart } from '../../../support/scenes/carts.js'
import { complete, guest, newCheckout, withCard } from '../../../support/scenes/checkout.js'
import { advance } from '../../../support/scenes/market.js'
import { newSession } from '../../../support/scenes/world.js'
import { anotherPayer, gate, type Scenes, type Shop } from './scene.js'

const ROME = { arguments: { city: 'Rome' } }

/** A link to the item, at which someone else may pay. */
async function newLink(shop: Shop) {
  const link = await newCheckout(shop.call, { seller: shop.seller, item: shop.item }, ROME)
  return { link, path: `/v4/checkout/${link.token}/complete` }
}

/** A charge of a card for a link whose delivery failed, and which the processor did not refund. */
async function unrefunded(shop: Shop) {
  const { call, upstream, seller } = shop
  await call('PUT', `/v4/catalog/items/${shop.item.id}`, { token: seller.token, body: { price: 2 } })
  const { fetch } = upstream
  upstream.fetch = async () => new Response('down', { status: 503 })
  const payer = { session: await newSession(call, shop.reader.email) }
  const { link } = await newLink(shop)
  expect((await withCard(call, link, payer)).body.code).toBe('upstream_failed')
  const guestLink = (await newLink(shop)).link
  expect((await withCard(call, guestLink, await guest(call))).body.code).toBe('upstream_failed')
  upstream.fetch = fetch
  const { counters, rows } = (await call('GET', '/_sandbox/snapshot')).body
  const checkout_charges = rows.checkout_charges.map((charge: object) => ({
    ...charge,
    ...{ status: 'unrefunded', open_of: null, refund_id: 'refund_0', refusal: 'too long ago' },
  }))
  await call('PUT', '/_sandbox/snapshot', { body: { counters, rows: { ...rows, checkout_charges } } })
  const { refunds } = (await call('GET', '/v4/checkout/refunds', { token: seller.token })).body
  return { ofGuest: refunds[0], ofUser: refunds[1] }
}

const cartOf = ({ call, reader, item }: Shop, count: number): Promise<number> =>
  filledCart(
    call,
    { token: reader.token },
    Array.from({ length: count }, () => item),
    ROME,
  )

/** Checkout links, their refunds, and carts. */
export const checkoutScenes = {
  checkout_paid: {
    async provoke(shop) {
      const { call, ask, reader } = shop
      const { link, path } = await newLink(shop)
      const paid = await complete(call, link, { token: reader.token })
      expect(paid.status, paid.text).toBe(200)
      const other = await anotherPayer(shop, 5)
      return {
        request: ask('POST', path, { token: other.token, body: {} }),
        facts: { checkout: link.id, checkout_status: 'paid', payer: `user:${reader.id}`, receipt: expect.any(Number) },
        says: [`Checkout ${link.id}`, '0.25 USD', `user:${reader.id} paid it`],
      }
    },
  },
  checkout_expired: {
    async provoke(shop) {
      const { call, ask } = shop
      const { link, path } = await newLink(shop)
      await advance(call, '24h')
      const { body } = await call('POST', '/_sandbox/sign-in', { body: { email: shop.reader.email } })
      const { clientId, clientSecret } = shop.seller
      const tokens = await call('POST', '/v4/account/oauth/token', {
        headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
      })
      shop.known.set(`account:${shop.seller.id}`, { token: tokens.body.access_token })
      return {
        request: ask('POST', path, { session: body.session_id, body: {} }),
        facts: { checkout: link.id, expires_at: '2031-05-02 12:00:00 UTC' },
        says: [`Checkout ${link.id}`, 'ended at 2031-05-02 12:00:00 UTC'],
      }
    },
  },
  checkout_paying: {
    options: { limits: { cardMs: 20 } },
    async provoke(shop) {
      const { call, reader, cards, seller } = shop
      await call('PUT', `/v4/catalog/items/${shop.item.id}`, { token: seller.token, body: { price: 2 } })
      const { link, path } = await newLink(shop)
      const { charge } = cards
      const { opened, open } = gate<void>()
      cards.charge = async (order) => {
        await opened
        return charge(order)
      }
      const user = { token: reader.token }
      expect((await withCard(call, link, user)).body).toMatchObject({ code: 'processor_failed', outcome: 'unknown' })
      return {
        request: shop.ask('POST', path, { ...user, body: { payment_method_id: 'pm_card_visa' } }),
        facts: { checkout: link.id, checkout_status: 'paying', retry_after: 5 },
        says: [`Checkout ${link.id}`, '2.00 USD', 'has not said how its charge ended'],
        meanwhile: () => open(),
        fill: { path: () => link.token },
      }
    },
  },
  refund_settled: {
    async provoke(shop) {
      const { ofGuest } = await unrefunded(shop)
      const sent = { token: shop.seller.token, body: { outcome: 'returned' } }
      const path = `/v4/checkout/refunds/${ofGuest.id}/settle`
      expect((await shop.call('POST', path, sent)).status).toBe(200)
      return {
        request: shop.ask('POST', path, sent),
        facts: { refund_status: expect.any(String), amount: 2 },
        says: [`The refund ${ofGuest.id} of 2.00 USD`, 'GET /v4/checkout/refunds'],
        fix: 'none',
      }
    },
  },
  refund_outcome_refused: {
    async provoke(shop) {
      const { ofGuest } = await unrefunded(shop)
      return {
        request: shop.ask('POST', `/v4/checkout/refunds/${ofGuest.id}/settle`, {
          token: shop.seller.token,
          body: { outcome: 'wallet' },
        }),
        facts: { refund_status: 'unrefunded', payer: 'A guest', sent: 'wallet', amount: 2 },
        says: [`The refund ${ofGuest.id} of 2.00 USD`, 'A guest', '"wallet"', 'too long ago'],
      }
    },
  },
  cart_full: {
    async provoke(shop) {
      const cart = await cartOf(shop, 50)
      return {
        request: shop.ask('POST', `/v4/carts/${cart}/items`, {
          token: shop.reader.token,
          body: { catalog_item_id: shop.item.id, ...ROME },
        }),
        facts: { cart, lines: 50, most: 50 },
        says: [`Cart ${cart} had 50 lines`],
      }
    },
  },
  cart_empty: {
    async provoke({ call, ask, reader, item }) {
      const cart = await newCart(call, { token: reader.token })
      return {
        request: ask('POST', `/v4/carts/${cart}/pay`, { token: reader.token, body: {} }),
        facts: { cart, lines: 0, lines_made: 0, item: item.id },
        says: [`The cart ${cart} had no lines`, `Catalog item ${item.id}`],
      }
    },
  },
  cart_closed: {
    async provoke(shop) {
      const { call, ask, reader, item } = shop
      const cart = await cartOf(shop, 1)
      const paid = await payCart(call, { token: reader.token }, cart)
      expect(paid.body.status, paid.text).toBe('paid')
      return {
        request: ask('POST', `/v4/carts/${cart}/items`, {
          token: reader.token,
          body: { catalog_item_id: item.id, ...ROME },
        }),
        facts: { cart, ordered_at: '2031-05-01 12:00:00 UTC', receipts: [expect.any(Number)] },
        says: [`The cart ${cart} was paid at 2031-05-01 12:00:00 UTC`, 'receipts'],
      }
    },
  },
  cart_paying: {
    async provoke(shop) {
      const { call, ask, reader, upstream } = shop
      const cart = await cartOf(shop, 1)
      const { opened, open } = gate<Response>()
      upstream.fetch = () => opened
      const user = { token: reader.token }
      const paying = payCart(call, user, cart)
      await expect.poll(async () => (await readCart(call, user, cart)).body.status, { interval: 2 }).toBe('paying')
      return {
        request: ask('POST', `/v4/carts/${cart}/pay`, { ...user, body: {} }),
        facts: { cart, other: expect.stringMatching(/^req_/) },
        says: [`A payment of cart ${cart} was on its way: req_`, '2031-05-01 12:00:00 UTC'],
        meanwhile: async () => {
          open(new Response('{}'))
          expect((await paying).body.status).toBe('paid')
        },
      }
    },
  },
} satisfies Scenes
