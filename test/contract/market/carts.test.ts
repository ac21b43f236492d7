import { expect, it } from 'vitest'
import type { Answer, Call, CallOptions } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { prepared } from '../../support/contract/prepared.js'
import { addItem, CLOSED_ENDPOINT, filledCart, newCart, newItem, readCart } from '../../support/scenes/carts.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import { authorizeApp, exchangeCode, newAgent, newApp, refreshWith } from '../../support/scenes/oidc.js'
import { newPage } from '../../support/scenes/paywall.js'
import { askCode, mailedCode, newGuest, verify } from '../../support/scenes/sign-in.js'
import { basic, newCommodity, newPayer, newSeller, newSession, type Seller } from '../../support/scenes/world.js'

const POINTS = { name: 'Points', shortcode: 'PTS', decimals: 0 }

const newShop = (start: Start) => opened(start, undefined)

const opened = prepared(async (call) => {
  const seller = await newSeller(call)
  const item = await newItem(call, seller, { external_endpoint: CLOSED_ENDPOINT })
  const payer = await newPayer(call, seller)
  return { seller, item, payer, user: { token: payer.token } as CallOptions }
})

/** Every operation on a cart and its first line. */
const operations = (
  call: Call,
  caller: CallOptions,
  cart: number,
  item: number,
): Record<string, () => Promise<Answer>> => ({
  readCart: () => readCart(call, caller, cart),
  addCartItem: () => addItem(call, caller, cart, { catalog_item_id: item }),
  updateCartItem: () => call('PUT', `/v4/carts/${cart}/items/1`, { ...caller, body: { quantity: 2 } }),
  deleteCartItem: () => call('DELETE', `/v4/carts/${cart}/items/1`, caller),
  payCart: () => call('POST', `/v4/carts/${cart}/pay`, caller),
  deleteCart: () => call('DELETE', `/v4/carts/${cart}`, caller),
})

const tokenPair = async (call: Call, { clientId, clientSecret }: Pick<Seller, 'clientId' | 'clientSecret'>) =>
  (await call('POST', '/v4/account/oauth/token', { headers: basic(clientId, clientSecret) })).body

const refreshed = async (call: Call, refreshToken: string): Promise<{ access_token: string; refresh_token: string }> =>
  (await call('POST', '/v4/account/oauth/token', { headers: { authorization: `Bearer ${refreshToken}` } })).body

contract('A cart', (start) => {
  it('starts empty for an account, a user, an agent, a session and a guest', async () => {
    const { call, seller, payer } = await newShop(start)
    const callers: CallOptions[] = [
      { token: seller.token },
      { token: payer.token },
      { token: (await newAgent(call)).accessToken },
      { session: await newSession(call, payer.email) },
      { session: await newGuest(call) },
    ]
    const ids = new Set<number>()
    for (const caller of callers) {
      const { status, body } = await call('POST', '/v4/carts', caller)
      expect([status, body]).toEqual([
        201,
        { id: expect.any(Number), status: 'open', items: [], totals: {}, created_at: expect.any(Number) },
      ])
      expect((await readCart(call, caller, body.id)).body).toEqual(body)
      ids.add(body.id)
    }
    expect(ids.size).toBe(callers.length)
  })

  it('of a caller without credentials belongs to the session that is issued for it', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const made = await call('POST', '/v4/carts')
    const session = made.headers.get('x-session-id') as string
    expect((await readCart(call, { session }, made.body.id)).body).toEqual(made.body)
    expectProblem(await readCart(call, {}, made.body.id), 404, 'not_found')
  })

  it('has lines with the price, name and seller of each item, and their sum', async () => {
    const { call, item, user } = await newShop(start)
    const cart = await newCart(call, user)
    const more = { catalog_item_id: item.id, arguments: { text: 'Grüße' }, quantity: 3 }
    const first = await addItem(call, user, cart, more)
    const line = {
      line: 1,
      catalog_item_id: item.id,
      name: 'A story',
      seller: item.seller,
      price: 0.25,
      dq: item.dq,
      quantity: 3,
      arguments: { text: 'Grüße' },
      status: 'open',
      receipts: [],
    }
    expect([first.status, first.body.items, first.body.totals]).toEqual([201, [line], { [item.dq]: 0.75 }])
    const second = await addItem(call, user, cart, { catalog_item_id: item.id })
    expect(second.body.items).toEqual([line, { ...line, line: 2, quantity: 1, arguments: {} }])
    expect(second.body.totals).toEqual({ [item.dq]: 1 })
    expect((await readCart(call, user, cart)).body).toEqual(second.body)
  })

  it('has a sum for each digital quantity', async () => {
    const { call, seller, item, user } = await newShop(() => start({ seed: { digital_quantities: [POINTS] } }))
    const [, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    const endpoint = { external_endpoint: CLOSED_ENDPOINT }
    const game = await newItem(call, seller, { name: 'A game', dq: points, price: 7, ...endpoint })
    const gift = await newItem(call, seller, { name: 'A gift', price: 0, ...endpoint })
    const cart = await filledCart(call, user, [item, game, gift], { quantity: 2 })
    expect((await readCart(call, user, cart)).body.totals).toEqual({ [item.dq]: 0.5, [points]: 14 })
  })

  it('lets its owner change the quantity and arguments of a line, or delete it', { tags: 'everywhere' }, async () => {
    const { call, item, user } = await newShop(start)
    const cart = await filledCart(call, user, [item, item])
    const change = (line: number, body: object) => call('PUT', `/v4/carts/${cart}/items/${line}`, { ...user, body })
    expect((await change(1, { quantity: 99 })).body.items[0]).toMatchObject({ quantity: 99, arguments: {} })
    const { status, body } = await change(1, { arguments: { text: 'more' } })
    expect([status, body.items[0]]).toMatchObject([200, { quantity: 99, arguments: { text: 'more' } }])
    expect(body.totals).toEqual({ [item.dq]: 25 })
    expect((await change(2, {})).body).toEqual(body)
    const removed = await call('DELETE', `/v4/carts/${cart}/items/1`, user)
    expect([removed.status, removed.body.items.map(({ line }: any) => line)]).toEqual([200, [2]])
    expect(removed.body.totals).toEqual({ [item.dq]: 0.25 })
    expectProblem(await change(1, { quantity: 1 }), 404, 'not_found')
    expectProblem(await call('DELETE', `/v4/carts/${cart}/items/1`, user), 404, 'not_found')
    // The number of a line that went is not given again.
    expect((await addItem(call, user, cart, { catalog_item_id: item.id })).body.items[1].line).toBe(3)
  })

  it('keeps the quoted price, so that a change is visible', async () => {
    const { call, seller, item, user } = await newShop(start)
    const cart = await filledCart(call, user, [item])
    await call('PUT', `/v4/catalog/items/${item.id}`, { token: seller.token, body: { price: 0.5 } })
    await call('PUT', `/v4/carts/${cart}/items/1`, { ...user, body: { arguments: { text: 'x' }, quantity: 2 } })
    const { items } = (await addItem(call, user, cart, { catalog_item_id: item.id })).body
    expect(items.map(({ price }: any) => price)).toEqual([0.25, 0.5])
  })

  it('accepts 1 to 99 of an item, and 50 lines', async () => {
    const { call, item, user } = await newShop(start)
    const cart = await newCart(call, user)
    for (const quantity of [0, -1, 1.5, 100, '2', null]) {
      const answer = await addItem(call, user, cart, { catalog_item_id: item.id, quantity })
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe('quantity')
    }
    for (let line = 1; line <= 50; line++)
      expect((await addItem(call, user, cart, { catalog_item_id: item.id })).status).toBe(201)
    expectProblem(await addItem(call, user, cart, { catalog_item_id: item.id }), 422, 'cart_full')
    await call('DELETE', `/v4/carts/${cart}/items/7`, user)
    expect((await addItem(call, user, cart, { catalog_item_id: item.id })).body.items).toHaveLength(50)
  })

  it('refuses items that are unknown or not for sale, and arguments that break the schema', async () => {
    const { call, seller, item, user, state } = await newShop(start)
    const cart = await filledCart(call, user, [item])
    const before = (await state()).rows
    expectProblem(await addItem(call, user, cart, { catalog_item_id: 4711 }), 404, 'not_found')
    for (const args of [{ text: 1 }, { other: 'x' }]) {
      const body = { catalog_item_id: item.id, arguments: args }
      expectProblem(await addItem(call, user, cart, body), 422, 'arguments_refused')
      const changed = await call('PUT', `/v4/carts/${cart}/items/1`, { ...user, body: { arguments: args } })
      expectProblem(changed, 422, 'arguments_refused')
    }
    expect((await state()).rows).toEqual(before)
    await call('POST', `/v4/catalog/items/${item.id}/archive`, { token: seller.token })
    expectProblem(await addItem(call, user, cart, { catalog_item_id: item.id }), 409, 'item_inactive')
    const body = { arguments: { text: 'x' } }
    expectProblem(await call('PUT', `/v4/carts/${cart}/items/1`, { ...user, body }), 409, 'item_inactive')
  })

  it('can be deleted, and leaves nothing behind', { tags: 'everywhere' }, async () => {
    const { call, item, user, state } = await newShop(start)
    const cart = await filledCart(call, user, [item, item])
    expect((await call('DELETE', `/v4/carts/${cart}`, user)).status).toBe(204)
    for (const operation of Object.values(operations(call, user, cart, item.id)))
      expectProblem(await operation(), 404, 'not_found')
    const { rows } = await state()
    expect([rows.carts ?? [], rows.cart_lines ?? []]).toEqual([[], []])
  })
})

contract('The owner of a cart', (start) => {
  /** Each of these is as if the cart were not there. */
  async function expectHidden(call: Call, callers: readonly CallOptions[], cart: number, item: number) {
    for (const caller of callers) {
      const absent = (await readCart(call, caller, 4711)).text
      for (const operation of Object.values(operations(call, caller, cart, item))) {
        const answer = await operation()
        expectProblem(answer, 404, 'not_found')
        expect(answer.text).toBe(absent)
      }
    }
  }

  it('is the credential that created it: other credentials do not see it, even of the same user', async () => {
    const { call, seller, payer, item } = await newShop(start)
    const app = await newApp(call)
    const { accessToken } = await newAgent(call, { app, email: payer.email })
    const [session, guest] = [await newSession(call, payer.email), await newGuest(call)]
    const callers: CallOptions[] = [
      { token: seller.token },
      { token: payer.token },
      { token: accessToken },
      { session },
      { session: guest },
    ]
    const others: CallOptions[] = [
      ...callers,
      { token: (await newSeller(call)).token },
      { token: (await newPayer(call, seller)).token },
      { token: (await newAgent(call, { app, email: payer.email })).accessToken },
      { session: await newSession(call, payer.email) },
      { session: await newGuest(call) },
    ]
    for (const caller of callers) {
      const cart = await filledCart(call, caller, [item])
      const before = await readCart(call, caller, cart)
      await expectHidden(
        call,
        others.filter((other) => other !== caller),
        cart,
        item.id,
      )
      expect((await readCart(call, caller, cart)).body).toEqual(before.body)
    }
  })

  it('follows the refresh of an access token, and no other token of the same client', async () => {
    const { call, seller, payer, item } = await newShop(start)
    await stopClock(call)
    for (const client of [seller, payer]) {
      const pair = await tokenPair(call, client)
      const cart = await filledCart(call, { token: pair.access_token }, [item])
      // The same token is given again while it has five minutes left.
      expect((await tokenPair(call, client)).access_token).toBe(pair.access_token)
      const second = await refreshed(call, pair.refresh_token)
      const third = await refreshed(call, second.refresh_token)
      for (const { access_token: token } of [pair, second, third])
        expect((await readCart(call, { token }, cart)).body.items).toHaveLength(1)
      await advance(call, '56m')
      const { access_token: other } = await tokenPair(call, client)
      expect([pair, second, third].map(({ access_token }) => access_token)).not.toContain(other)
      await expectHidden(call, [{ token: other }], cart, item.id)
      const fourth = await refreshed(call, third.refresh_token)
      await advance(call, '10m')
      const caller = { token: fourth.access_token }
      expectProblem(await readCart(call, { token: pair.access_token }, cart), 401, 'token_invalid')
      expect((await addItem(call, caller, cart, { catalog_item_id: item.id })).body.items).toHaveLength(2)
    }
  })

  it("follows the refresh of an app's access token", async () => {
    const { call, item } = await newShop(start)
    const app = await newApp(call)
    const { accessToken, refreshToken, session } = await newAgent(call, { app })
    const cart = await filledCart(call, { token: accessToken }, [item])
    const { body } = await refreshWith(call, app, refreshToken)
    const later = (await refreshWith(call, app, body.refresh_token)).body
    for (const { access_token: token } of [body, later])
      expect((await addItem(call, { token }, cart, { catalog_item_id: item.id })).status).toBe(201)
    const { code } = await authorizeApp(call, app, { session })
    const again = (await exchangeCode(call, app, code)).body
    await expectHidden(call, [{ token: again.access_token }], cart, item.id)
  })

  it('follows a guest into their signed-in session, and leaves the old id', async () => {
    const { call, item } = await newShop(start)
    const session = await newGuest(call)
    const cart = await filledCart(call, { session }, [item])
    await askCode(call, session, 'ada@example.test')
    const code = await mailedCode(call, 'ada@example.test')
    const signedIn = (await verify(call, session, 'ada@example.test', code)).body.session_id
    expect((await addItem(call, { session: signedIn }, cart, { catalog_item_id: item.id })).body.items).toHaveLength(2)
    await expectHidden(call, [{ session }, { session: await newSession(call, 'ada@example.test') }], cart, item.id)
  })

  it('stays when the same user signs in again, and not when someone else does', async () => {
    const { call, item } = await newShop(start)
    const signIn = async (session: string, email: string): Promise<string> => {
      await askCode(call, session, email)
      return (await verify(call, session, email, await mailedCode(call, email))).body.session_id
    }
    const first = await signIn(await newGuest(call), 'ada@example.test')
    const cart = await filledCart(call, { session: first }, [item])
    const second = await signIn(first, 'ada@example.test')
    expect((await readCart(call, { session: second }, cart)).status).toBe(200)
    const third = await signIn(second, 'eve@example.test')
    await expectHidden(call, [{ session: first }, { session: second }, { session: third }], cart, item.id)
  })

  it('ends when its session is signed out: the id alone opens nothing', async () => {
    const { call, item, payer } = await newShop(start)
    const session = await newSession(call, payer.email)
    const cart = await filledCart(call, { session }, [item])
    await call('DELETE', '/v4/session', { session })
    await expectHidden(call, [{ session }], cart, item.id)
  })

  it('is never a page session: 403 wrong_principal', async () => {
    const { call, seller, item, payer, user } = await newShop(start)
    const { hash, hostname } = await newCommodity(call, seller)
    const page = await newPage(call, { seller, shop: hostname, hash, payer })
    expectProblem(await call('POST', '/v4/carts', page), 403, 'wrong_principal')
    const cart = await filledCart(call, user, [item])
    for (const operation of Object.values(operations(call, page, cart, item.id)))
      expectProblem(await operation(), 403, 'wrong_principal')
  })
})
