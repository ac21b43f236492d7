import { expect } from 'vitest'
import type { Answer, Call, CallOptions } from '../api.js'
import { newPayer, newSeller, type Payer, type Seller } from './world.js'

/** Steps of selling and buying by the catalog, through the public interface. */

export const WEATHER = {
  name: 'City weather',
  description: 'The weather of a city, by the hour.',
  price: 0.25,
  service_method: 'GET',
  service_schema: {
    type: 'object',
    properties: { city: { type: 'string', maxLength: 100 }, hours: { type: 'integer', minimum: 1 } },
    required: ['city'],
  },
}

export const postItem = (call: Call, { token }: Pick<Seller, 'token'>, fields: object): Promise<Answer> =>
  call('POST', '/v4/catalog/items', {
    token,
    body: { ...WEATHER, external_endpoint: 'https://api.example.test/weather', ...fields },
  })

export interface Item {
  readonly id: number
  readonly price: number
  readonly dq: string
  readonly commodity_hash: string
  readonly hostname: string
  readonly [field: string]: unknown
}

export async function newItem(call: Call, seller: Pick<Seller, 'token'>, fields: object = {}): Promise<Item> {
  const { status, body } = await postItem(call, seller, fields)
  expect(status).toBe(201)
  return body
}

export const changeItem = (
  call: Call,
  { token }: Pick<Seller, 'token'>,
  { id }: Pick<Item, 'id'>,
  body: object,
): Promise<Answer> => call('PUT', `/v4/catalog/items/${id}`, { token, body })

export const putParameters = (
  call: Call,
  { token }: Seller,
  { id }: Pick<Item, 'id'>,
  parameters: object[],
): Promise<Answer> => call('PUT', `/v4/catalog/items/${id}/parameters`, { token, body: { parameters } })

export const purchase = (
  call: Call,
  buyer: CallOptions,
  { id }: Pick<Item, 'id'>,
  body: object = {},
): Promise<Answer> => call('POST', `/v4/catalog/items/${id}/purchases`, { ...buyer, body })

export interface Shop {
  readonly seller: Seller
  readonly item: Item
  readonly payer: Payer
}

/** A seller of one item, and a payer whose twin holds 10. */
export async function newShop(call: Call, fields: object = {}): Promise<Shop> {
  const seller = await newSeller(call)
  const item = await newItem(call, seller, fields)
  return { seller, item, payer: await newPayer(call, seller, { balance: 10 }) }
}

/** Balances of the payer and of the item's twin; the audit must find nothing, and nothing may be held. */
export async function settledSums(call: Call, { payer, seller, item }: Shop): Promise<[number, number]> {
  const audit = (await call('GET', '/_sandbox/ledger')).body
  expect([audit.broken, audit.digital_quantities.map(({ held }: { held: number }) => held)]).toEqual([null, [0]])
  const held = async (token: string, hostname: string) =>
    Object.values((await call('GET', `/v4/twin/${hostname}`, { token })).body.balances)[0] as number
  return [await held(payer.token, payer.hostname), await held(seller.token, item.hostname)]
}
