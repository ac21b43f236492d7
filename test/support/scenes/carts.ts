import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import type { Answer, Call, CallOptions } from '../api.js'
import type { Start, Started } from '../contract/contract.js'
import { prepared } from '../contract/prepared.js'
import { expectSoundLedger } from './market.js'
import type { TestUpstream } from './upstream.js'
import { balanceOf, newPayer, newSeller, type Payer, type Seller } from './world.js'

/** Steps of filling and paying carts, through the public interface. */

/** An endpoint that nothing serves, for items that nobody buys. */
export const CLOSED_ENDPOINT = 'https://api.example.test/'

export interface CartItem {
  readonly id: number
  readonly name: string
  readonly seller: string
  readonly price: number
  readonly dq: string
}

/** What takes a text and no other argument. */
export const TEXT_SCHEMA = { type: 'object', properties: { text: { type: 'string', maxLength: 100 } } }

/** A catalog item of the seller's, fulfilled by an endpoint. */
export async function newItem(call: Call, seller: Seller, fields: object): Promise<CartItem> {
  const body = {
    name: 'A story',
    description: 'The whole story.',
    price: 0.25,
    service_method: 'POST',
    service_schema: TEXT_SCHEMA,
    ...fields,
  }
  const answer = await call('POST', '/v4/catalog/items', { token: seller.token, body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}

export async function newCart(call: Call, caller: CallOptions): Promise<number> {
  const answer = await call('POST', '/v4/carts', caller)
  expect(answer.status).toBe(201)
  return answer.body.id
}

export const addItem = (call: Call, caller: CallOptions, cart: number, body: object): Promise<Answer> =>
  call('POST', `/v4/carts/${cart}/items`, { ...caller, body })

export const readCart = (call: Call, caller: CallOptions, cart: number): Promise<Answer> =>
  call('GET', `/v4/carts/${cart}`, caller)

export const payCart = (call: Call, caller: CallOptions, cart: number, body: object = {}): Promise<Answer> =>
  call('POST', `/v4/carts/${cart}/pay`, { ...caller, body })

/** A cart of the caller's, with one line of each of these items. */
export async function filledCart(
  call: Call,
  caller: CallOptions,
  items: readonly Pick<CartItem, 'id'>[],
  more: object = {},
): Promise<number> {
  const cart = await newCart(call, caller)
  for (const { id } of items) {
    const answer = await addItem(call, caller, cart, { catalog_item_id: id, ...more })
    expect(answer.status, answer.text).toBe(201)
  }
  return cart
}

export const newSellers = (call: Call, count: number): Promise<Seller[]> =>
  Promise.all(Array.from({ length: count }, () => newSeller(call)))

/** An endpoint on loopback that answers nobody before it is opened. */
export interface Gate {
  readonly url: string
  open(): void
  close(): Promise<void>
}

export async function startGate(): Promise<Gate> {
  const waiting: ServerResponse[] = []
  let isOpen = false
  const open = () => {
    isOpen = true
    for (const res of waiting.splice(0)) res.end('open')
  }
  const server = createServer((req, res) => {
    // Services in browsers call it as any page would.
    const allowed = ['origin', 'headers', 'methods'].map((what) => [`access-control-allow-${what}`, '*'])
    res.writeHead(req.method === 'OPTIONS' ? 204 : 200, Object.fromEntries(allowed))
    if (req.method === 'OPTIONS') return res.end()
    waiting.push(res)
    if (isOpen) open()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A service with someone who sells, and someone who buys. */
export interface Shop extends Started {
  readonly seller: Seller
  readonly payer: Payer
  readonly user: CallOptions
  /** An item whose endpoint answers as `upstream` does at that path. */
  sell(path?: string, fields?: object): Promise<CartItem>
  left(): Promise<number>
}

const sellerAndPayer = prepared(async (call) => {
  const seller = await newSeller(call)
  return { seller, payer: await newPayer(call, seller, { balance: 10 }) }
})

/** A seller, and a payer whose twin holds 10. */
export async function newCartShop(
  start: Start,
  upstream: TestUpstream,
  options: Parameters<Start>[0] = {},
): Promise<Shop> {
  const running = await sellerAndPayer(start, undefined, options)
  const { call, seller, payer } = running
  return {
    ...running,
    user: { token: payer.token },
    sell: (path = 'ok', fields = {}) =>
      newItem(call, seller, { external_endpoint: `${upstream.url}/${path}`, ...fields }),
    left: () => balanceOf(call, payer.token, payer.hostname),
  }
}

/** The ledger is sound, and nothing is held any more. */
export async function expectSettled(call: Call): Promise<void> {
  const { digital_quantities } = await expectSoundLedger(call)
  for (const { held } of digital_quantities) expect(held).toBe(0)
}
