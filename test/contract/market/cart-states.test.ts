import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Answer, Call, CallOptions } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import {
  addItem,
  type CartItem,
  expectSettled,
  filledCart,
  type Gate,
  newCartShop,
  payCart,
  readCart,
  startGate,
} from '../../support/scenes/carts.js'
import { expectProblem } from '../../support/scenes/market.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newSession } from '../../support/scenes/world.js'

const upstream = useUpstream()

const newShop = (start: Start, options: Parameters<Start>[0] = {}) => newCartShop(start, upstream, options)

contract('The states of a cart', (start) => {
  const changes = (call: Call, caller: CallOptions, cart: number, item: CartItem): (() => Promise<Answer>)[] => [
    () => addItem(call, caller, cart, { catalog_item_id: item.id }),
    () => call('PUT', `/v4/carts/${cart}/items/1`, { ...caller, body: { quantity: 2 } }),
    () => call('DELETE', `/v4/carts/${cart}/items/1`, caller),
    () => call('DELETE', `/v4/carts/${cart}`, caller),
  ]

  let gate: Gate
  beforeEach(async () => {
    gate = await startGate()
  })
  afterEach(() => gate.close())

  it.each([
    ['paid', ['gate', 'ok'], 0.5],
    ['partly_paid', ['gate', 'status/503'], 0.25],
    ['failed', ['status/500', 'status/503'], 0],
  ])('go from open through paying to %s, which is final', async (status, paths, spent) => {
    const { call, user, sell, left, state } = await newShop(start)
    const items: CartItem[] = []
    for (const path of paths) items.push(await sell(path, path === 'gate' ? { external_endpoint: gate.url } : {}))
    const cart = await filledCart(call, user, items)
    expect((await readCart(call, user, cart)).body.status).toBe('open')
    const paying = payCart(call, user, cart)
    if (paths[0] === 'gate') {
      await expect.poll(async () => (await readCart(call, user, cart)).body.status).toBe('paying')
      for (const change of changes(call, user, cart, items[0] as CartItem))
        expectProblem(await change(), 409, 'cart_closed')
      expectProblem(await payCart(call, user, cart), 409, 'cart_paying')
      gate.open()
    }
    const paid = await paying
    expect([paid.status, paid.body.status]).toEqual([200, status])
    expect(await left()).toBe(10 - spent)
    const before = (await state()).rows
    for (const change of changes(call, user, cart, items[0] as CartItem))
      expectProblem(await change(), 409, 'cart_closed')
    for (const body of [{}, { accept_prices: true }])
      expect((await payCart(call, user, cart, body)).body).toEqual(paid.body)
    expect((await readCart(call, user, cart)).body).toEqual(paid.body)
    expect((await state()).rows).toEqual(before)
    await expectSettled(call)
  })
})

contract('A cart that is paid 20 times at once', (start) => {
  it('is paid once', async () => {
    const { call, payer, sell, left } = await newShop(start)
    const session = { session: await newSession(call, payer.email) }
    const cart = await filledCart(call, session, [await sell('slow', { price: 1 }), await sell('ok', { price: 1 })])
    const answers = await Promise.all(Array.from({ length: 20 }, () => payCart(call, session, cart)))
    const paid = answers.filter(({ status }) => status === 200)
    expect(paid.length).toBeGreaterThan(0)
    for (const { body } of paid) expect(body).toEqual(paid[0]?.body)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectProblem(answer, 409, 'cart_paying')
    expect([upstream.requests.length, await left()]).toEqual([2, 8])
    await expectSettled(call)
  })

  it('and changed at the same time is paid either before or after the change', async () => {
    const { call, user, sell, left } = await newShop(start)
    const item = await sell('ok', { price: 1 })
    const cart = await filledCart(call, user, [item])
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        n % 2 ? payCart(call, user, cart) : addItem(call, user, cart, { catalog_item_id: item.id }),
      ),
    )
    const added = answers.filter(({ status }) => status === 201).length
    for (const { status, body } of answers)
      if (status >= 400) expect(['cart_closed', 'cart_paying']).toContain(body.code)
    const { body } = await readCart(call, user, cart)
    expect([body.status, body.items.length]).toEqual(['paid', 1 + added])
    expect([upstream.requests.length, await left()]).toEqual([1 + added, 9 - added])
    await expectSettled(call)
  })
})
