import { expect } from 'vitest'
import { newItem } from '../../../support/scenes/catalog.js'
import { pay } from '../../../support/scenes/market.js'
import { newPersona } from '../../../support/scenes/personas.js'
import { anotherPayer, anotherSeller, type Scenes } from './scene.js'

/** Things that are absent, or that belong to others. */
export const ownerScenes = {
  not_found: {
    async provoke(shop) {
      const { id } = await pay(shop.call, shop.reader, shop.article)
      const { id: other, token } = await anotherPayer(shop)
      const owners = [`user:${shop.reader.id}`, `account:${shop.seller.id}`]
      return {
        request: shop.ask('GET', `/v4/payments/${id}`, { token }),
        facts: { caller: `user:${other}`, named: [{ kind: 'payment', value: `${id}`, exists: true, owners }] },
        says: [`The payment ${id} exists`, shop.reader.email, `user:${other} called`, 'POST /v4/user/oauth/token'],
      }
    },
  },
  'not_found (another id)': {
    async provoke({ call, ask, reader, article }) {
      const { id } = await pay(call, reader, article)
      return {
        request: ask('GET', `/v4/payments/999`, { token: reader.token }),
        facts: { named: [{ kind: 'payment', value: '999', exists: false }], callers: [`${id}`] },
        says: ['No payment had the id 999', `user:${reader.id} had the payment ${id}`],
      }
    },
  },
  too_many_new: {
    options: { limits: { newPerDay: 5 } },
    async provoke({ call, ask, reader }) {
      const { token } = reader
      for (let n = 0; n < 5; n++) await newPersona(call, { token })
      const { twins } = (await call('GET', '/v4/twins', { token })).body
      return {
        request: ask('POST', '/v4/persona', { token, body: { name: 'One more', twin_id: twins[0].id } }),
        facts: { of: 'personas', most: 5, option: 'limits.newPerDay', retry_after: 86_400 },
        fix: 'none',
        says: ['the limit of 5 new personas a day', '`limits.newPerDay`', 'after 86400 seconds'],
      }
    },
  },
  not_owner: {
    async provoke(shop) {
      const { article, seller } = shop
      const { token, id } = await anotherSeller(shop)
      return {
        request: shop.ask('GET', `/v4/commodity/${article.hash}/transactions`, { token }),
        facts: { named: [{ kind: 'commodity', value: article.hash, owners: [`account:${seller.id}`] }] },
        says: [`The commodity ${article.hash} exists`, `account:${seller.id}`, `account:${id} called`],
      }
    },
  },
  twin_unknown: {
    provoke: ({ ask, seller, dq }) => ({
      request: ask('POST', '/v4/commodity', {
        token: seller.token,
        body: { descriptor: 'A', dq, cost: 1, twin_id: 1 },
      }),
      facts: { twin_id: '1', own: { id: expect.any(Number), hostname: expect.any(String) } },
      says: ['The twin 1 exists', `account:${seller.id} has the twin`],
    }),
  },
  plan_limit_reached: {
    async provoke(shop) {
      const { call, ask, seller, item } = shop
      for (let n = 0; n < 24; n++) await newItem(call, seller)
      const { name, description, price } = item
      const body = { name, description, price, service_method: 'GET', external_endpoint: 'https://api.example.test/' }
      return {
        request: ask('POST', '/v4/catalog/items', {
          token: seller.token,
          body: { ...body, service_schema: { type: 'object' } },
        }),
        facts: { account: seller.id, plan: 'free', of: 'active_items', used: 25, limit: 25 },
        says: [
          `account:${seller.id} has the plan Free, which allows 25 active items`,
          '25 were used',
          'The plan Growth',
        ],
      }
    },
  },
  sold_by_item: {
    provoke: ({ ask, seller, item }) => ({
      request: ask('PUT', `/v4/commodity/${item.commodity_hash}/payback`, {
        token: seller.token,
        body: { enabled: true },
      }),
      facts: { hash: item.commodity_hash, item: item.id },
      says: [`Catalog item ${item.id}`, '`payback: true`'],
    }),
  },
} satisfies Scenes
