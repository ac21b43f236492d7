import { expect } from 'vitest'
import { changeItem, newItem, putParameters } from '../../../support/scenes/catalog.js'
import type { Scenes, Shop } from './scene.js'

const ROME = { arguments: { city: 'Rome' } }

const buy = ({ ask, reader }: Shop, { id }: { id: number }, body: object = ROME) =>
  ask('POST', `/v4/catalog/items/${id}/purchases`, { token: reader.token, body })

/** Catalog items, their arguments, and the endpoints of their sellers. */
export const catalogScenes = {
  item_archived: {
    async provoke({ call, ask, seller, item }) {
      await call('POST', `/v4/catalog/items/${item.id}/archive`, { token: seller.token })
      return {
        request: ask('PUT', `/v4/catalog/items/${item.id}`, { token: seller.token, body: { price: 1 } }),
        facts: { item: item.id, account: seller.id, archived: true },
        says: [`Catalog item ${item.id}, “City weather”`, `account:${seller.id}`, 'archived'],
      }
    },
  },
  item_not_archived: {
    provoke: ({ ask, seller, item }) => ({
      request: ask('POST', `/v4/catalog/items/${item.id}/restore`, { token: seller.token }),
      facts: { item: item.id, archived: false, active: true },
      says: [`Catalog item ${item.id}`, 'not archived, and active'],
      fix: 'none',
    }),
  },
  item_inactive: {
    async provoke(shop) {
      const { call, seller, item } = shop
      await changeItem(call, seller, item, { active: false })
      return {
        request: buy(shop, item),
        facts: { item: item.id, account: seller.id, active: false, archived: false },
        says: [`Catalog item ${item.id}, “City weather”`, 'it was inactive'],
      }
    },
  },
  'item_inactive (archived)': {
    async provoke(shop) {
      const { call, seller, item } = shop
      await call('POST', `/v4/catalog/items/${item.id}/archive`, { token: seller.token })
      return {
        request: buy(shop, item),
        facts: { item: item.id, archived: true },
        says: [`Catalog item ${item.id}, “City weather”`, 'it was archived'],
      }
    },
  },
  arguments_refused: {
    provoke: (shop) => ({
      request: buy(shop, shop.item, { arguments: { hours: 'many', town: 'Rome' } }),
      facts: { item: shop.item.id, sent: { hours: 'many', town: 'Rome' } },
      says: ['`city` (required)', '`hours`', '{"hours":"many","town":"Rome"}', 'does not declare town'],
    }),
  },
  schema_refused: {
    async provoke(shop) {
      const { call, item, seller } = shop
      const snapshot = (await call('GET', '/_sandbox/snapshot')).body
      const service_schema = { type: 'object', properties: { city: { $ref: 'https://elsewhere.example.test/' } } }
      for (const row of snapshot.rows.catalog_items) if (row.id === item.id) row.service_schema = service_schema
      expect((await call('PUT', '/_sandbox/snapshot', { body: snapshot })).status).toBe(204)
      return {
        request: buy(shop, item, { arguments: {} }),
        facts: { item: item.id, account: seller.id, schema: service_schema },
        says: [`Catalog item ${item.id}, “City weather”`, 'Its JSON Schema cannot be checked'],
      }
    },
  },
  parameter_unreadable: {
    async provoke(shop) {
      const item = await newItem(shop.call, shop.seller, {
        name: 'Tenant weather',
        external_endpoint: 'https://api.example.test/{secret.TENANT}',
      })
      await putParameters(shop.call, shop.seller, item, [{ kind: 'header', name: 'X-Plan', value: 'gold' }])
      return {
        request: buy(shop, item),
        facts: { item: item.id, needed: ['TENANT'], stored: [{ name: 'X-Plan', kind: 'header' }] },
        says: ['Tenant weather', 'needs TENANT', 'X-Plan is stored'],
      }
    },
  },
  upstream_refused: {
    provoke: ({ ask, seller, item }) => ({
      request: ask('PUT', `/v4/catalog/items/${item.id}`, {
        token: seller.token,
        body: { external_endpoint: 'http://169.254.169.254/latest/meta-data' },
      }),
      facts: { url: 'http://169.254.169.254/latest/meta-data', host: '169.254.169.254' },
      says: ['http://169.254.169.254/latest/meta-data', 'never addresses of cloud metadata'],
    }),
  },
  upstream_failed: {
    provoke(shop) {
      const { upstream, item } = shop
      const { fetch } = upstream
      upstream.fetch = async () => new Response('down', { status: 503 })
      return {
        request: buy(shop, item),
        facts: {
          ...{ item: item.id, endpoint: 'https://api.example.test/weather' },
          payment: { id: expect.any(Number), status: 'reversed', amount: 0.25 },
        },
        says: ['GET https://api.example.test/weather', '0.25 USD is `reversed`', 'answered 503'],
        meanwhile: () => {
          upstream.fetch = fetch
        },
      }
    },
  },
} satisfies Scenes
