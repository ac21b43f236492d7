import { expect, it } from 'vitest'
import { nodeUpstream } from '../../../adapters/node.js'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { type Answer, type Call, caller } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import {
  addItem,
  type CartItem,
  expectSettled,
  filledCart,
  newCart,
  newCartShop,
  newItem,
  newSellers,
  payCart,
  readCart,
  startGate,
  TEXT_SCHEMA,
} from '../../support/scenes/carts.js'
import { balancesOf, expectProblem, fund } from '../../support/scenes/market.js'
import { newAgent, newApp } from '../../support/scenes/oidc.js'
import { newDelegate, newPersona, UNKNOWN_HASH } from '../../support/scenes/personas.js'
import { askCode, mailedCode, newGuest, verify } from '../../support/scenes/sign-in.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { balanceOf, newPayer, newSeller, newTwin } from '../../support/scenes/world.js'

const POINTS = { name: 'Points', shortcode: 'PTS', decimals: 0 }

const upstream = useUpstream()

const newShop = (start: Start, options: Parameters<Start>[0] = {}) => newCartShop(start, upstream, options)

const statusesOf = ({ body }: Answer) => [body.status, ...body.items.map(({ status }: any) => status)]

const receiptsOf = ({ body }: Answer): any[] => body.items.flatMap(({ receipts }: any) => receipts)

contract('payCart', (start) => {
  it('buys each item of each line separately, and returns the receipts', { tags: 'everywhere' }, async () => {
    const { call, seller, user, sell, left } = await newShop(start)
    const [story, game] = [await sell('ok/story'), await sell('text', { name: 'A game', price: 1 })]
    const cart = await newCart(call, user)
    await addItem(call, user, cart, { catalog_item_id: story.id, arguments: { text: 'one' }, quantity: 2 })
    await addItem(call, user, cart, { catalog_item_id: game.id })
    const paid = await payCart(call, user, cart)
    expect([paid.status, ...statusesOf(paid)]).toEqual([200, 'paid', 'paid', 'paid'])
    expect(paid.body.totals).toEqual({ [story.dq]: 1.5 })
    const receipt = { status: 'paid', dq: story.dq, transaction_id: expect.any(Number) }
    const [first, second, third] = receiptsOf(paid)
    for (const each of [first, second])
      expect(each).toMatchObject({ ...receipt, catalog_item_id: story.id, seller: story.seller, amount: 0.25 })
    expect(first.response).toMatchObject({ status: 200, body: '{"story":"The whole story."}' })
    expect(third).toMatchObject({ ...receipt, catalog_item_id: game.id, name: 'A game', amount: 1 })
    expect(third.response).toMatchObject({ status: 200, body: 'Grüße' })
    const ids = receiptsOf(paid).map(({ transaction_id }) => transaction_id)
    expect(new Set(ids).size).toBe(3)
    const called = upstream.requests.map(({ path, body }) => [path, JSON.parse(body)])
    expect(called.sort()).toEqual([
      ['/ok/story', { text: 'one' }],
      ['/ok/story', { text: 'one' }],
      ['/text', {}],
    ])
    expect(await left()).toBe(8.5)
    const { purchases } = (await call('GET', '/v4/purchases', user)).body
    expect(purchases.map((each: any) => each.transaction_id).sort()).toEqual([...ids].sort())
    for (const each of receiptsOf(paid)) {
      expect((await call('GET', `/v4/purchases/${each.transaction_id}`, user)).body).toEqual(each)
      const sold = await call('GET', `/v4/purchases/${each.transaction_id}`, { token: seller.token })
      expect(sold.body).toMatchObject({ transaction_id: each.transaction_id, status: 'paid' })
    }
    expect((await readCart(call, user, cart)).body).toEqual(paid.body)
    await expectSettled(call)
  })

  it('reverses lines that were not delivered', async () => {
    const { call, user, sell, left } = await newShop(start)
    const items = [await sell('ok', { price: 1 }), await sell('status/500', { price: 2 }), await sell('status/404')]
    const cart = await filledCart(call, user, items, { quantity: 2 })
    const paid = await payCart(call, user, cart)
    expect(statusesOf(paid)).toEqual(['partly_paid', 'paid', 'reversed', 'paid'])
    const statuses = ['paid', 'paid', 'reversed', 'reversed', 'paid', 'paid']
    expect(receiptsOf(paid).map(({ status }) => status)).toEqual(statuses)
    expect(await left()).toBe(7.5)
    await expectSettled(call)
  })

  it('fails if nothing was delivered', async () => {
    const { call, user, sell, left } = await newShop(start)
    const cart = await filledCart(call, user, [await sell('reset'), await sell('truncated')])
    const paid = await payCart(call, user, cart)
    expect([paid.status, ...statusesOf(paid)]).toEqual([200, 'failed', 'reversed', 'reversed'])
    expect(await left()).toBe(10)
    await expectSettled(call)
  })

  it('pays 47 of 50 lines from 20 sellers if three endpoints fail', async () => {
    const { call, user, left } = await newShop(start)
    const sellers = await newSellers(call, 20)
    const failing = ['status/500', 'reset', 'truncated']
    const items: CartItem[] = []
    for (const [n, seller] of sellers.entries())
      items.push(
        await newItem(call, seller, { external_endpoint: `${upstream.url}/${failing[n] ?? 'ok'}`, price: 0.1 }),
      )
    const [a, b, c, ...others] = items as [CartItem, CartItem, CartItem, ...CartItem[]]
    const lines = Array.from({ length: 47 }, (_, n) => others[n % others.length] as CartItem)
    const cart = await filledCart(call, user, [a, ...lines, b, c])
    const paid = await payCart(call, user, cart)
    expect(paid.body.status).toBe('partly_paid')
    const byStatus = (status: string) => paid.body.items.filter((line: any) => line.status === status)
    expect([byStatus('paid').length, byStatus('reversed').map(({ line }: any) => line)]).toEqual([47, [1, 49, 50]])
    expect(new Set(receiptsOf(paid).map(({ transaction_id }) => transaction_id)).size).toBe(50)
    expect(await left()).toBe(5.3)
    await expectSettled(call)
  })

  it('holds the whole sum of each digital quantity or nothing: 402 insufficient_funds', async () => {
    const { call, payer, user, sell, left, state } = await newShop(start, { seed: { digital_quantities: [POINTS] } })
    const [, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    await fund(call, payer.hostname, 6, points)
    const [story, game] = [await sell('ok', { price: 1 }), await sell('ok', { dq: points, price: 7 })]
    for (const cart of [
      await filledCart(call, user, [story], { quantity: 11 }),
      await filledCart(call, user, Array(11).fill(story)),
      await filledCart(call, user, [story, game]),
    ]) {
      const before = (await state()).rows
      expectProblem(await payCart(call, user, cart), 402, 'insufficient_funds')
      expect((await state()).rows).toEqual(before)
    }
    expect(upstream.requests).toEqual([])
    await fund(call, payer.hostname, 1, points)
    const cart = await filledCart(call, user, [story, game])
    expect((await payCart(call, user, cart)).body).toMatchObject({ status: 'paid', totals: { [points]: 7 } })
    expect([await left(), (await balancesOf(call, payer.token, payer.hostname))[points]]).toEqual([9, 0])
    await expectSettled(call)
  })

  it('charges only the quoted price unless the caller allows others: 409 price_changed', async () => {
    const { call, seller, user, sell, left } = await newShop(start)
    const [story, game] = [await sell(), await sell('ok', { price: 1 })]
    const cart = await filledCart(call, user, [story, game, game], { quantity: 2 })
    await call('PUT', `/v4/catalog/items/${game.id}`, { token: seller.token, body: { price: 1.5 } })
    const refused = await payCart(call, user, cart)
    expectProblem(refused, 409, 'price_changed')
    const changed = {
      catalog_item_id: game.id,
      name: game.name,
      price: 1,
      dq: game.dq,
      new_price: 1.5,
      new_dq: game.dq,
    }
    expect(refused.body.lines).toEqual([
      { line: 2, ...changed },
      { line: 3, ...changed },
    ])
    expect((await readCart(call, user, cart)).body).toMatchObject({ status: 'open', totals: { [game.dq]: 4.5 } })
    expect([await left(), upstream.requests]).toEqual([10, []])
    // Nobody has approved anything by sending an id.
    expectProblem(await payCart(call, user, cart, { approval_id: 'apr_none' }), 409, 'price_changed')
    const paid = await payCart(call, user, cart, { accept_prices: true })
    expect(paid.body).toMatchObject({ status: 'paid', totals: { [game.dq]: 6.5 } })
    expect(paid.body.items.map(({ price }: any) => price)).toEqual([0.25, 1.5, 1.5])
    expect(await left()).toBe(3.5)
  })

  it('refuses an empty cart: 422 cart_empty', async () => {
    const { call, user } = await newShop(start)
    expectProblem(await payCart(call, user, await newCart(call, user)), 422, 'cart_empty')
  })

  it('names the line that is no longer for sale', async () => {
    const { call, seller, user, sell, left } = await newShop(start)
    const [story, game, film] = [await sell(), await sell(), await sell()]
    const cart = await filledCart(call, user, [story, game, film], { arguments: { text: 'x' } })
    const change = (item: CartItem, body: object) =>
      call('PUT', `/v4/catalog/items/${item.id}`, { token: seller.token, body })
    await change(film, { service_schema: { type: 'object', properties: { other: { type: 'string' } } } })
    const refused = await payCart(call, user, cart)
    expectProblem(refused, 422, 'arguments_refused')
    expect(refused.body.line).toBe(3)
    const named = "The arguments do not match the item's schema. Nothing was charged. "
    expect(refused.body.error).toMatch(new RegExp(`^${named}.*text.* It is line 3, "A story"\\.$`))
    await change(game, { active: false })
    const inactive = await payCart(call, user, cart)
    expectProblem(inactive, 409, 'item_inactive')
    expect(inactive.body.line).toBe(2)
    expect([await left(), upstream.requests]).toEqual([10, []])
    await call('DELETE', `/v4/carts/${cart}/items/2`, user)
    await change(film, { service_schema: TEXT_SCHEMA })
    expect((await payCart(call, user, cart)).body.status).toBe('paid')
  })

  it('holds nothing if the hidden parameters of one endpoint are unreadable: 502 parameter_unreadable', async () => {
    const { call, user, sell, state } = await newShop(start)
    const schema = { service_schema: { type: 'object', properties: {} } }
    const cart = await filledCart(call, user, [await sell(), await sell('ok/{secret.TENANT}', schema)])
    const before = (await state()).rows
    const refused = await payCart(call, user, cart)
    expectProblem(refused, 502, 'parameter_unreadable')
    expect([refused.body.line, upstream.requests]).toEqual([2, []])
    expect((await state()).rows).toEqual(before)
  })

  it("can pay from any of the payer's twins, and from no others", async () => {
    const { call, seller, payer, user, sell, left } = await newShop(start)
    const second = await newTwin(call, payer.token)
    await fund(call, second.hostname, 1)
    const cart = await filledCart(call, user, [await sell()])
    const eve = await newPayer(call, seller, { balance: 1 })
    expectProblem(await payCart(call, user, cart, { hostname: eve.hostname }), 403, 'not_owner')
    expectProblem(await payCart(call, user, cart, { hostname: 'nobody.test' }), 404, 'not_found')
    expect((await payCart(call, user, cart, { hostname: second.hostname })).body.status).toBe('paid')
    expect([await balanceOf(call, payer.token, second.hostname), await left()]).toEqual([0.75, 10])
  })

  it('asks a guest to sign in, who keeps the cart: 401 sign_in_required', async () => {
    const { call, payer, sell, left } = await newShop(start)
    const session = await newGuest(call)
    const cart = await filledCart(call, { session }, [await sell()])
    expectProblem(await payCart(call, { session }, cart), 401, 'sign_in_required')
    await askCode(call, session, payer.email)
    const code = await mailedCode(call, payer.email)
    const signedIn = { session: (await verify(call, session, payer.email, code)).body.session_id }
    expect((await payCart(call, signedIn, cart)).body.status).toBe('paid')
    expect(await left()).toBe(9.75)
    // Receipts hold what was paid for: the id that the guest had opens them no more.
    expectProblem(await readCart(call, { session }, cart), 404, 'not_found')
  })

  it("needs the approval of an agent's user unless it is free: 403 approval_required", async () => {
    const { call, payer, sell, left } = await newShop(start)
    const agent = { token: (await newAgent(call, { email: payer.email })).accessToken }
    const cart = await filledCart(call, agent, [await sell(), await sell('ok', { price: 0 })])
    const refused = await payCart(call, agent, cart)
    expectProblem(refused, 403, 'approval_required')
    expect(refused.body.approval).toEqual({ kind: 'cart', cart_id: cart })
    expect(upstream.requests).toEqual([])
    await call('DELETE', `/v4/carts/${cart}/items/1`, agent)
    const paid = await payCart(call, agent, cart)
    expect([statusesOf(paid), receiptsOf(paid)]).toMatchObject([['paid', 'paid'], [{ amount: 0, status: 'paid' }]])
    expect(await left()).toBe(10)
  })

  it('with a spending authority counts only delivered lines', async () => {
    const { call, seller, payer, sell, left } = await newShop(start)
    const app = await newApp(call)
    const agent = { token: (await newAgent(call, { app, email: payer.email })).accessToken }
    const shopper = await newSeller(call)
    const [story, lost] = [await sell('ok', { price: 1 }), await sell('status/500', { price: 2 })]
    const persona = await newPersona(call, payer)
    const { hostname } = (await call('GET', `/v4/twins`, { token: seller.token })).body.twins[0]
    const allow = async (client_id: string) => {
      const spend = { party: { client_id }, dq: story.dq, limit: 4 }
      return (await newDelegate(call, user(payer), { persona: persona.hash, hostname, spend })).hash
    }
    for (const [caller, client] of [
      [{ token: shopper.token }, shopper.clientId],
      [agent, app.id],
    ] as const) {
      const before = await left()
      const persona_delegate = await allow(client)
      const cart = await filledCart(call, caller, [story, lost])
      expectProblem(await payCart(call, caller, cart, { persona_delegate: UNKNOWN_HASH }), 403, 'delegate_refused')
      const paid = await payCart(call, caller, cart, { persona_delegate })
      expect(statusesOf(paid)).toEqual(['partly_paid', 'paid', 'reversed'])
      expect(await left()).toBe(before - 1)
      // Of 4, 1 was spent.
      const dear = await filledCart(call, caller, [lost, lost])
      expectProblem(await payCart(call, caller, dear, { persona_delegate }), 403, 'delegate_refused')
      const rest = await filledCart(call, caller, [story], { quantity: 3 })
      expect((await payCart(call, caller, rest, { persona_delegate })).body.status).toBe('paid')
      expect(await left()).toBe(before - 4)
    }
    await expectSettled(call)
  })

  it('needs a spending authority for an account: 403 delegate_required', async () => {
    const { call, seller, sell } = await newShop(start)
    const account = { token: seller.token }
    expectProblem(
      await payCart(call, account, await filledCart(call, account, [await sell()])),
      403,
      'delegate_required',
    )
  })

  it('refuses a payment from a twin to itself: 422 same_twin', async () => {
    const { call, seller, sell } = await newShop(start)
    const twin = await newTwin(call, seller.token)
    await fund(call, twin.hostname, 1)
    const item = await sell('ok', { twin_id: twin.id })
    const persona = await newPersona(call, seller)
    const anchored = (await call('GET', `/v4/twin/${persona.hostname}`, { token: seller.token })).body
    const own = anchored.id === twin.id ? item : await sell('ok', { twin_id: anchored.id })
    await fund(call, persona.hostname, 1)
    const spend = { party: { client_id: seller.clientId }, dq: item.dq, limit: 1 }
    const { hash } = await newDelegate(call, user(seller), { persona: persona.hash, hostname: twin.hostname, spend })
    const account = { token: seller.token }
    const cart = await filledCart(call, account, [own])
    expectProblem(await payCart(call, account, cart, { persona_delegate: hash }), 422, 'same_twin')
    expect(upstream.requests).toEqual([])
  })

  it('pays once with an Idempotency-Key, and repeats its answer', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, user, sell, left } = await newShop(start)
    const gate = await startGate()
    const cart = await filledCart(call, user, [await sell('gate', { external_endpoint: gate.url }), await sell()])
    const keyed = { ...user, headers: { 'idempotency-key': 'once' } }
    const paying = payCart(call, keyed, cart)
    await expect.poll(async () => (await readCart(call, user, cart)).body.status).toBe('paying')
    expectProblem(await payCart(call, keyed, cart), 409, 'idempotency_in_progress')
    gate.open()
    const paid = await paying
    expect(paid.body.status).toBe('paid')
    await gate.close()
    const again = await payCart(call, keyed, cart)
    expect([again.headers.get('idempotent-replayed'), again.body]).toEqual(['true', paid.body])
    expectProblem(await payCart(call, keyed, cart, { accept_prices: true }), 422, 'idempotency_mismatch')
    expect([upstream.requests.length, await left()]).toEqual([1, 9.5])
  })
})

it('payCart refuses an answer that was encrypted with a different key, and does not pay again', async () => {
  const storage = memoryStorage()
  const services = ['11', '22'].map((byte) =>
    createService({ storage, sandbox: true, encryptionKey: byte.repeat(32), upstream: nodeUpstream() }),
  )
  const [one, other] = services.map(({ fetch, baseUrl }) => caller({ url: baseUrl, fetch })) as [Call, Call]
  const seller = await newSeller(one)
  const payer = await newPayer(one, seller, { balance: 1 })
  const item = await newItem(one, seller, { external_endpoint: `${upstream.url}/ok` })
  const cart = await filledCart(one, user(payer), [item])
  const keyed = { ...user(payer), headers: { 'idempotency-key': 'once' } }
  expect((await payCart(one, keyed, cart)).body.status).toBe('paid')
  expectProblem(await payCart(other, keyed, cart), 409, 'idempotency_unreadable')
  // Without the key the cart is as it was; what was delivered is lost to that service.
  const { body } = await payCart(other, user(payer), cart)
  expect([body.status, body.items[0].receipts[0].response]).toEqual(['paid', expect.objectContaining({ body: null })])
  expect([upstream.requests.length, await balanceOf(one, payer.token, payer.hostname)]).toEqual([1, 0.75])
  for (const service of services) await service.close()
})

const user = ({ token }: { token: string }): { token: string } => ({ token })
