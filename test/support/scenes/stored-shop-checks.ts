import { expect } from 'vitest'
import type { Service } from '../../../src/index.js'
import { caller } from '../api.js'
import { newItem, WEATHER } from './catalog.js'
import { ask, type Ordered, openShop, type Shop, send } from './stored-shop.js'
import { newCommodity, newPayer, newSeller } from './world.js'

const FUNDS = 1000
const COST = 0.25

/** Creates the shop. Its journal holds everything. */
export async function newStoredShop(file: string): Promise<Shop> {
  const service = await openShop(file)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const { hash, hostname } = await newCommodity(call, seller, { cost: COST })
  const item = await newItem(call, seller, { ...WEATHER, price: COST })
  const payer = await newPayer(call, seller, { balance: FUNDS })
  await service.close()
  return { file, payer, seller: { token: seller.token, hostname }, hash, itemId: item.id }
}

/** Whether the client was told that an order happened. */
export const isDone = ({ status = 0 }: Pick<Ordered, 'status'>): boolean => status < 300 && status > 0

/** Repeats every order. Each has happened once, as the client was told, and nothing else has. */
export async function expectOrdersOnce(service: Service, shop: Shop, ordered: readonly Ordered[]): Promise<void> {
  const { token, hostname } = shop.payer
  const paid: number[] = []
  for (const order of ordered) {
    const again = await send(service, shop, order)
    if (isDone(order)) expect([again.status, again.text]).toEqual([order.status, order.text])
    // A process that died while it called an endpoint has reversed the payment.
    else if (again.status !== 502) expect(again).toSatisfy(isDone)
    if (isDone(again)) paid.push(again.body.transaction_id ?? again.body.id)
  }
  expect(new Set(paid).size).toBe(paid.length)
  const { body } = await ask(service, 'GET', '/v4/payments?limit=100', { token })
  const kept = (body.payments as { id: number; status: string }[]).filter(({ status }) => status !== 'reversed')
  expect(kept.map(({ id, status }) => [id, status]).sort()).toEqual(paid.map((id) => [id, 'posted']).sort())
  const twin = await ask(service, 'GET', `/v4/twin/${hostname}`, { token })
  expect(Object.values(twin.body.balances)).toEqual([FUNDS - paid.length * COST])
  const audit = (await ask(service, 'GET', '/_sandbox/ledger')).body
  expect([audit.broken, audit.digital_quantities.map(({ held }: { held: number }) => held)]).toEqual([null, [0]])
}
