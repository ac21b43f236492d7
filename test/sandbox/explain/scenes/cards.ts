import { expect } from 'vitest'
import { FAILING, VISA } from '../../../support/scenes/billing.js'
import { newCheckout, withCard } from '../../../support/scenes/checkout.js'
import { advance } from '../../../support/scenes/market.js'
import { again } from '../../../support/scenes/transfers.js'
import { gate, type Scenes, type Shop } from './scene.js'

const topup = ({ ask, reader }: Shop, payment_method_id: string) =>
  ask('POST', `/v4/twin/${reader.hostname}/topup`, { token: reader.token, body: { amount: 5, payment_method_id } })

/** An account whose second month is not paid: its card is put on file, and then declined. */
async function pastDue(shop: Shop) {
  const { call, seller } = shop
  const { token } = seller
  await call('PUT', '/v4/billing/plan', { token, body: { plan: 'growth', payment_method_id: VISA } })
  await call('PUT', '/v4/billing/card', { token, body: { payment_method_id: FAILING } })
  await advance(call, '31d')
  const later = await again(call, seller)
  shop.know('account', later)
  const { invoices } = (await call('GET', '/v4/billing/invoices', { token: later.token })).body
  return { token: later.token, owed: invoices[0] }
}

/** Cards, plans and invoices. */
export const cardScenes = {
  card_declined: {
    provoke: (shop) => ({
      request: topup(shop, 'pm_card_expired'),
      facts: { payment_method_id: 'pm_card_expired', reason: 'expired card' },
      says: ['The card pm_card_expired was declined: expired card', '`pm_card_visa` works'],
    }),
  },
  processor_failed: {
    provoke: (shop) => ({
      request: topup(shop, 'pm_processor_down'),
      facts: { payment_method_id: 'pm_processor_down', outcome: 'failed' },
      says: ['no usable answer for pm_processor_down', 'Nothing was charged'],
    }),
  },
  too_many_declines: {
    async provoke(shop) {
      for (let n = 0; n < 10; n++) expect((await topup(shop, 'pm_card_expired')).answer.status).toBe(402)
      await advance(shop.call, '1m')
      return {
        request: topup(shop, VISA),
        facts: { principal: `user:${shop.reader.id}`, payment_method_id: VISA, retry_after: 840, declined: 10 },
        says: ['10 cards were declined', `user:${shop.reader.id}`, 'after 840 seconds'],
      }
    },
  },
  too_many_charges: {
    async provoke(shop) {
      const charging = gate<void>()
      let asked = 0
      shop.cards.charge = async ({ id }) => {
        asked++
        await charging.opened
        return { status: 'succeeded', charge_id: `ch_${id}` }
      }
      const open = Promise.all(Array.from({ length: 20 }, () => topup(shop, VISA)))
      await expect.poll(() => asked).toBe(20)
      return {
        request: topup(shop, VISA),
        facts: { principal: `user:${shop.reader.id}`, open: 20, own: 20, retry_after: 5 },
        says: ['20 charges have no outcome yet', 'after 5 seconds'],
        async meanwhile() {
          charging.open()
          await open
        },
      }
    },
  },
  card_minimum: {
    async provoke(shop) {
      const link = await newCheckout(
        shop.call,
        { seller: shop.seller, item: shop.item },
        {
          arguments: { city: 'Rome' },
        },
      )
      return {
        request: withCard(shop.call, link, { token: shop.reader.token }).then((answer) => ({
          answer,
          sent: { token: shop.reader.token, body: { payment_method_id: VISA } },
        })),
        facts: { price: '0.25 USD', least: 0.5 },
        says: ['The price is 0.25 USD', 'at least 0.50'],
        fill: { path: () => link.token },
      }
    },
  },
  card_required: {
    provoke: ({ ask, seller }) => ({
      request: ask('PUT', '/v4/billing/plan', { token: seller.token, body: { plan: 'growth' } }),
      facts: { account: seller.id, plan: 'free', wanted: 'growth', card: null },
      says: [`account:${seller.id} has the plan Free and no card on file`],
    }),
  },
  card_in_use: {
    async provoke({ call, ask, seller }) {
      const { token } = seller
      await call('PUT', '/v4/billing/plan', { token, body: { plan: 'growth', payment_method_id: VISA } })
      return {
        request: ask('DELETE', '/v4/billing/card', { token }),
        facts: { plan: 'growth', card: { brand: 'visa', last4: '4242' } },
        says: ['visa 4242 pays the plan Growth'],
      }
    },
  },
  invoice_not_open: {
    async provoke({ call, ask, seller }) {
      const { token } = seller
      await call('PUT', '/v4/billing/plan', { token, body: { plan: 'growth', payment_method_id: VISA } })
      const [{ id }] = (await call('GET', '/v4/billing/invoices', { token })).body.invoices
      return {
        request: ask('POST', `/v4/billing/invoices/${id}/pay`, { token, body: {} }),
        facts: { invoice: id, invoice_status: 'paid', total: 29 },
        says: [`The invoice ${id} of 29.00 USD is \`paid\` since 2031-05-01 12:00:00 UTC`, 'Nothing is left to pay'],
        fix: 'none',
      }
    },
  },
  invoice_unpaid: {
    async provoke(shop) {
      const { token, owed } = await pastDue(shop)
      return {
        request: shop.ask('PUT', '/v4/billing/plan', { token, body: { plan: 'scale', payment_method_id: VISA } }),
        facts: { invoice: owed.id, invoice_status: 'open', total: 29, failures: 1 },
        says: [`The invoice ${owed.id} of 29.00 USD is \`open\``, '1 declined charge'],
      }
    },
  },
  charge_pending: {
    async provoke({ call, ask, seller, cards }) {
      const { token } = seller
      const { charge } = cards
      const { opened, open } = gate<void>()
      cards.charge = async (order) => {
        await opened
        return charge(order)
      }
      const paying = call('PUT', '/v4/billing/plan', { token, body: { plan: 'growth', payment_method_id: VISA } })
      const issued = async () => (await call('GET', '/v4/billing/invoices', { token })).body.invoices
      await expect.poll(async () => (await issued()).length, { interval: 2 }).toBe(1)
      const [{ id }] = await issued()
      return {
        request: ask('PUT', '/v4/billing/plan', { token, body: { plan: 'scale', payment_method_id: VISA } }),
        facts: { invoice: id, total: 29 },
        says: [`Invoice ${id} of 29.00 USD`, 'its charge has no outcome yet'],
        meanwhile: async () => {
          open()
          expect((await paying).status).toBe(200)
        },
      }
    },
  },
} satisfies Scenes
