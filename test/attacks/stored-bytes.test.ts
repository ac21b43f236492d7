import { afterAll, describe, expect, it } from 'vitest'
import { createService, type Service } from '../../src/index.js'
import { type Answer, type Call, type CallOptions, caller } from '../support/api.js'
import { addItem, newCart, newItem, payCart } from '../support/scenes/carts.js'
import { expectProblem } from '../support/scenes/market.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { balanceOf, newPayer, newSeller, newTwin, type Payer, type Seller, tokenFor } from '../support/scenes/world.js'

/** An owner who makes the service store large answers fills what is theirs of a day, and loses neither value nor content. */

const upstream = useUpstream()
/** The scene's large answer has 200,000 bytes, so the third one is beyond it. */
const MOST = 500_000

const open: Service[] = []
afterAll(async () => {
  for (const service of open) await service.close()
})

interface World {
  readonly service: Service
  readonly call: Call
  readonly seller: Seller
  readonly payer: Payer
  readonly item: { readonly id: number }
}

async function newWorld(storedBytesPerDay: number): Promise<World> {
  const service = createService({ sandbox: true, limits: { storedBytesPerDay } })
  open.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 100 })
  const item = await newItem(call, seller, { external_endpoint: `${upstream.url}/large`, price: 0 })
  return { service, call, seller, payer, item }
}

/** How many characters the answers have that are stored, of the collections that hold them. */
async function storedIn(service: Service): Promise<number> {
  const { rows } = (await service.sandbox.snapshot()) as unknown as { rows: Record<string, unknown> }
  return JSON.stringify([rows.purchase_responses ?? [], rows.idempotency ?? []]).length
}

const buy = ({ call, item }: World, buyer: CallOptions, key?: string): Promise<Answer> =>
  call('POST', `/v4/catalog/items/${item.id}/purchases`, {
    ...buyer,
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    body: { arguments: {} },
  })

/** More than what is stored for one owner: the limit, one answer beyond it, and what is small. */
const BOUND = MOST + 2 * 280_000

describe('an owner with large answers', () => {
  it('fills no more than their day with purchases, and gets each answer', async () => {
    const world = await newWorld(MOST)
    const { call, service, payer } = world
    const token = { token: payer.token }
    const bodies: number[] = []
    for (let count = 0; count < 8; count++) bodies.push((await buy(world, token)).body.response.body.length)
    expect(bodies).toEqual(Array(8).fill(200_000))
    expect(await storedIn(service)).toBeLessThan(BOUND)
    const { purchases } = (await call('GET', '/v4/purchases', token)).body
    const shown = []
    for (const { transaction_id } of purchases)
      shown.push((await call('GET', `/v4/purchases/${transaction_id}`, token)).body)
    expect(shown.map(({ status, response }) => [status, response.status, response.body?.length ?? null])).toEqual([
      ...Array(6).fill(['paid', 200, null]),
      ...Array(2).fill(['paid', 200, 200_000]),
    ])
  })

  it('fills no more with keys, and a retry neither repeats nor pays', async () => {
    const world = await newWorld(MOST)
    const { call, service, payer, seller } = world
    const { hostname } = await newTwin(call, seller.token)
    const relay = (key: string) =>
      call('POST', '/v4/paywall', {
        token: payer.token,
        headers: { 'idempotency-key': key },
        body: { amount: 1, destination: hostname, serviceUrl: `${upstream.url}/large` },
      })
    const first = []
    for (let count = 0; count < 6; count++) first.push(await relay(`key-${count}`))
    expect(first.map(({ status, text }) => [status, text.length])).toEqual(Array(6).fill([200, 200_000]))
    expect(await storedIn(service)).toBeLessThan(BOUND)
    const balance = await balanceOf(call, payer.token, payer.hostname)
    const calls = upstream.requests.length
    expect((await relay('key-0')).text).toHaveLength(200_000)
    const refused = await relay('key-5')
    expectProblem(refused, 409, 'idempotency_unreadable')
    for (const name of ['x-payment-id', 'x-payment-status'])
      expect(refused.headers.get(name)).toBe(first[5]?.headers.get(name))
    expect([await balanceOf(call, payer.token, payer.hostname), upstream.requests.length]).toEqual([balance, calls])
  })

  it('fills it together with unproven users that they create, and nobody else fills it', async () => {
    const world = await newWorld(MOST)
    const { call, service, seller } = world
    for (let count = 0; count < 4; count++) {
      const user = await newPayer(call, seller, { balance: 1 })
      expect((await buy(world, { token: user.token }, `key-${count}`)).body.response.body).toHaveLength(200_000)
    }
    expect(await storedIn(service)).toBeLessThan(BOUND)
    const other = await newPayer(call, await newSeller(call), { balance: 1 })
    const own = await buy(world, { token: other.token })
    const kept = await call('GET', `/v4/purchases/${own.body.transaction_id}`, { token: other.token })
    expect(kept.body.response.body).toHaveLength(200_000)
  })

  it('pays no cart whose content could not be kept, before anything is held, until the day is over', async () => {
    const world = await newWorld(MOST)
    const { call, payer, service } = world
    const token = { token: payer.token }
    for (let count = 0; count < 2; count++) await buy(world, token, `key-${count}`)
    const payNew = async (payer: CallOptions) => {
      const cart = await newCart(call, payer)
      await addItem(call, payer, cart, { catalog_item_id: world.item.id, arguments: {} })
      return payCart(call, payer, cart)
    }
    const calls = upstream.requests.length
    const refused = await payNew(token)
    expectProblem(refused, 429, 'too_many_new')
    expect([refused.body.of, refused.body.limit, upstream.requests.length]).toEqual(['stored_bytes', MOST, calls])
    await service.sandbox.setClock({ advance: 86_400_000 })
    expect((await payNew(await fresh(world))).status).toBe(200)
  })

  it('keeps every line of a cart that was allowed', async () => {
    const world = await newWorld(MOST)
    const { call, payer } = world
    const token = { token: payer.token }
    const cart = await newCart(call, token)
    await addItem(call, token, cart, { catalog_item_id: world.item.id, arguments: {}, quantity: 5 })
    expect((await payCart(call, token, cart)).status).toBe(200)
    const { purchases } = (await call('GET', '/v4/purchases', token)).body
    for (const { transaction_id } of purchases) {
      const { body } = await call('GET', `/v4/purchases/${transaction_id}`, token)
      expect(body.response.body).toHaveLength(200_000)
    }
  })
})

const fresh = async ({ call, payer }: World) => ({ token: await tokenFor(call, payer.clientId, payer.clientSecret) })
