import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import type { Answer, Call, CallOptions } from '../api.js'
import type { Start } from '../contract/contract.js'
import { prepared } from '../contract/prepared.js'
import { expectSoundLedger, stopClock } from './market.js'
import { newGuest } from './sign-in.js'
import type { TestUpstream } from './upstream.js'
import { newPayer, newSeller, type Payer, type Seller } from './world.js'

/** Steps of paying by a link, through the public interface. */

export interface Shop {
  readonly seller: Seller
  readonly item: { id: number; hostname: string; dq: string; commodity_hash: string }
  /** Who holds ten. */
  readonly payer: Payer
}

/** The topic is declared, and nothing else. */
export const TOPIC = {
  type: 'object',
  properties: { topic: { type: 'string', maxLength: 64 } },
  required: ['topic'],
}

export interface Sold {
  readonly price?: number
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly name?: string
  readonly description?: string
  readonly dq?: string
}

/** Something of the seller's that is delivered by `endpoint`. */
export async function newItem(
  call: Call,
  seller: Seller,
  endpoint: string,
  { price = 2, method = 'GET', name = 'A story', description = 'Told once, about a topic.', dq }: Sold = {},
): Promise<Shop['item']> {
  const body = {
    ...{ name, description, price, descriptor: 'STORY', service_method: method },
    ...{ external_endpoint: endpoint, service_schema: TOPIC, ...(dq !== undefined && { dq }) },
  }
  const { status, body: item } = await call('POST', '/v4/catalog/items', { token: seller.token, body })
  expect(status, JSON.stringify(item)).toBe(201)
  return item
}

export async function newShop(call: Call, endpoint: string, sold?: Sold): Promise<Shop> {
  const seller = await newSeller(call)
  return {
    seller,
    item: await newItem(call, seller, endpoint, sold),
    payer: await newPayer(call, seller, { balance: 10 }),
  }
}

export const changeItem = async (call: Call, { seller, item }: Shop, body: object): Promise<void> => {
  const { status } = await call('PUT', `/v4/catalog/items/${item.id}`, { token: seller.token, body })
  expect(status).toBe(200)
}

export const makeCheckout = (
  call: Call,
  { seller, item }: Pick<Shop, 'seller' | 'item'>,
  body: object = {},
  caller: CallOptions = { token: seller.token },
): Promise<Answer> =>
  call('POST', '/v4/checkout', {
    ...caller,
    body: { catalog_item_id: item.id, arguments: { topic: 'birds' }, ...body },
  })

/** A service that delivers when the test says so. */
export interface Gate {
  readonly url: string
  /** How many wait. */
  waiting(): number
  /** Answers who waits, and whoever comes until it is shut again. */
  open(): void
  shut(): void
  close(): Promise<void>
}

export async function startGate(): Promise<Gate> {
  const waiting: ServerResponse[] = []
  let isOpen = false
  const server = createServer((req, res) => {
    // Services in browsers call it as any page would.
    res.setHeader('access-control-allow-origin', '*')
    if (req.method === 'OPTIONS') return res.writeHead(204, { 'access-control-allow-headers': '*' }).end()
    if (isOpen) return res.end('delivered')
    return waiting.push(res)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    waiting: () => waiting.length,
    open() {
      isOpen = true
      for (const res of waiting.splice(0)) res.end('delivered')
    },
    shut() {
      isOpen = false
      waiting.length = 0
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface Link {
  readonly id: number
  readonly token: string
  readonly url: string
  readonly expires_at: number
}

/** A link that must be made. */
export async function newCheckout(call: Call, shop: Pick<Shop, 'seller' | 'item'>, body?: object): Promise<Link> {
  const made = await makeCheckout(call, shop, body)
  expect(made.status).toBe(201)
  return made.body
}

export const readCheckout = (call: Call, { token }: Pick<Link, 'token'>): Promise<Answer> =>
  call('GET', `/v4/checkout/${token}`)

export const complete = (
  call: Call,
  { token }: Pick<Link, 'token'>,
  caller: CallOptions,
  body: object = {},
): Promise<Answer> => call('POST', `/v4/checkout/${token}/complete`, { ...caller, body })

export const withCard = (
  call: Call,
  link: Pick<Link, 'token'>,
  caller: CallOptions,
  payment_method_id = 'pm_card_visa',
): Promise<Answer> => complete(call, link, caller, { payment_method_id })

export const guest = async (call: Call): Promise<CallOptions> => ({ session: await newGuest(call) })

export const statusOf = async (call: Call, link: Pick<Link, 'token'>): Promise<string> =>
  (await readCheckout(call, link)).body.status

/** Charges of cards, or their refunds, in the outbox, newest first. */
export const cardMessages = async (call: Call, kind: 'card' | 'refund'): Promise<any[]> =>
  (await call('GET', `/_sandbox/outbox?kind=${kind}&limit=100`)).body.messages

/** What the seller's twin and the payer's hold, and what is issued in all; the audit must find nothing, and nothing may be held. */
export async function settled(call: Call, { seller, item, payer }: Shop) {
  const { digital_quantities } = await expectSoundLedger(call)
  expect(digital_quantities.map(({ held }: { held: number }) => held)).toEqual(digital_quantities.map(() => 0))
  const held = async (token: string, hostname: string) =>
    ((await call('GET', `/v4/twin/${hostname}`, { token })).body.balances[item.dq] as number) ?? 0
  return {
    seller: await held(seller.token, item.hostname),
    payer: await held(payer.token, payer.hostname),
    issued: digital_quantities[0].issued as number,
  }
}

/** A shop whose goods are delivered by a path of the upstream service, and a link to one. */
export async function newLink(
  start: Start,
  upstream: TestUpstream,
  { path = 'ok', price = 2, options = {} as Parameters<Start>[0], body = {} } = {},
) {
  const running = await soldLink(start, { endpoint: `${upstream.url}/${path}`, price, body }, options)
  return { ...running, ...running.shop }
}

const soldLink = prepared(
  async (call, { endpoint, price, body }: { endpoint: string; price: number; body: object }) => {
    const shop = await newShop(call, endpoint, { price })
    return { shop, link: await newCheckout(call, shop, body) }
  },
)

/** The same with a stopped clock. */
export async function newLinkAt(start: Start, upstream: TestUpstream) {
  const running = await soldLinkAt(start, `${upstream.url}/ok`, { limits: { upstreamMs: 1500 } })
  return { ...running, ...running.shop }
}

const soldLinkAt = prepared(async (call, endpoint: string) => {
  const at = await stopClock(call)
  const shop = await newShop(call, endpoint)
  return { at, shop, link: await newCheckout(call, shop) }
})

export type Made = Awaited<ReturnType<typeof newLinkAt>>
