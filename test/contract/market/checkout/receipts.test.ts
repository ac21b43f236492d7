import { expect, it } from 'vitest'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { changeItem, newShop, purchase, putParameters, settledSums } from '../../../support/scenes/catalog.js'
import { expectProblem, pay, readPages } from '../../../support/scenes/market.js'
import { useUpstream } from '../../../support/scenes/upstream.js'
import { newPayer } from '../../../support/scenes/world.js'

const upstream = useUpstream()

const at = (path: string) => ({ external_endpoint: `${upstream.url}/${path}` })
const OSLO = { arguments: { city: 'Oslo' } }
const ANY = { type: 'object', properties: { note: { type: 'string' } } }

contract('listPurchases and readPurchase', (start) => {
  it('GET /v4/purchases/{id} shows the receipt to buyer and seller, and the delivery only to the buyer', async () => {
    const {
      call,
      made: { item, payer, seller },
    } = await startWith(start, newShop, at('ok'))
    const { body } = await purchase(call, { token: payer.token }, item, OSLO)
    const path = `/v4/purchases/${body.transaction_id}`
    expect((await call('GET', path, { token: payer.token })).body).toEqual(body)
    const { response, ...rest } = body
    expect((await call('GET', path, { token: seller.token })).body).toEqual({
      ...rest,
      response: { ...response, body: null },
    })
    const stranger = await newPayer(call, seller)
    expectProblem(await call('GET', path, { token: stranger.token }), 404, 'not_found')
    expectProblem(await call('GET', '/v4/purchases/999', { token: payer.token }), 404, 'not_found')
    expectProblem(await call('GET', '/v4/purchases/none', { token: payer.token }), 404, 'not_found')
  })

  it('GET /v4/purchases lists both sides their purchases, newest first, without bodies', async () => {
    const {
      call,
      made: { item, payer, seller },
    } = await startWith(start, newShop, at('ok'))
    const ids = []
    for (const city of ['Oslo', 'Rome', 'Bern'])
      ids.unshift((await purchase(call, { token: payer.token }, item, { arguments: { city } })).body.transaction_id)
    for (const { token } of [payer, seller]) {
      const pages = await readPages(call, '/v4/purchases', { plural: 'purchases', token, limit: 2 })
      expect(pages.flat().map(({ transaction_id }) => transaction_id)).toEqual(ids)
      expect(pages.flat().map(({ response }) => response.body)).toEqual([null, null, null])
    }
    const { token } = await newPayer(call, seller)
    expect((await call('GET', '/v4/purchases', { token })).body).toEqual({ purchases: [], next: null })
    expectProblem(await call('GET', `/v4/purchases?after=${ids[0]}`, { token }), 400, 'cursor_invalid')
  })

  it("a commodity's transactions include its purchases and its payments", { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { item, payer, seller },
    } = await startWith(start, newShop, at('ok'))
    await pay(call, payer, { hash: item.commodity_hash })
    await purchase(call, { token: payer.token }, item, OSLO)
    await changeItem(call, seller, item, at('status/500/'))
    await purchase(call, { token: payer.token }, item, OSLO)
    const { body } = await call('GET', `/v4/commodity/${item.commodity_hash}/transactions`, { token: seller.token })
    expect(body.transactions).toMatchObject([
      { kind: 'purchase', status: 'reversed', hostname: payer.hostname },
      { kind: 'purchase', status: 'posted', amount: 0.25, hostname: payer.hostname },
      { kind: 'payment', status: 'posted' },
    ])
  })

  it('stores the delivery encrypted', async () => {
    const {
      call,
      state,
      made: { item, payer },
    } = await startWith(start, newShop, at('ok'))
    await purchase(call, { token: payer.token }, item, OSLO)
    expect(JSON.stringify(await state())).not.toContain('The whole story')
  })
})

contract('the parameters of a purchase', (start) => {
  const PARAMETERS = [
    { kind: 'header', name: 'Authorization', sensitive: true, value: 'Bearer sk_live_1234567890' },
    { kind: 'header', name: 'X-Plan', sensitive: false, value: 'gold' },
    { kind: 'query', name: 'key', sensitive: true, value: 'q&secret=1' },
    { kind: 'url', name: 'TENANT', sensitive: true, value: 'a/b' },
  ]

  it('are added to the call, and arguments cannot replace them', async () => {
    const { call } = await start()
    const args = {
      key: 'mine',
      Authorization: 'Bearer mine',
      host: 'evil.example.test',
      'Transfer-Encoding': 'chunked',
      'X-Plan': 'platinum',
      TENANT: 'mine',
    }
    const properties = Object.fromEntries(Object.keys(args).map((name) => [name, { type: 'string' }]))
    const shop = await newShop(call, {
      ...at('ok/{secret.TENANT}?key=theirs'),
      service_schema: { type: 'object', properties },
    })
    await putParameters(call, shop.seller, shop.item, PARAMETERS)
    expect((await purchase(call, { token: shop.payer.token }, shop.item, { arguments: args })).status).toBe(201)
    const [got] = upstream.requests
    const { pathname, searchParams } = new URL(got?.path ?? '', upstream.url)
    expect([pathname, searchParams.getAll('key')]).toEqual(['/ok/a%2Fb', ['q&secret=1']])
    expect(Object.fromEntries(searchParams)).toEqual({ ...args, key: 'q&secret=1' })
    expect(got?.headers['transfer-encoding']).toBeUndefined()
    expect(got?.headers).toMatchObject({
      authorization: 'Bearer sk_live_1234567890',
      'x-plan': 'gold',
      host: new URL(upstream.url).host,
    })
  })

  it('are sent with a JSON body too', async () => {
    const { call, made: shop } = await startWith(start, newShop, {
      ...at('ok/{secret.TENANT}'),
      service_method: 'POST',
      service_schema: ANY,
    })
    await putParameters(call, shop.seller, shop.item, PARAMETERS)
    await purchase(call, { token: shop.payer.token }, shop.item, { arguments: { note: 'hello' } })
    const [sent] = upstream.requests
    expect([sent?.path, sent?.body]).toEqual(['/ok/a%2Fb?key=q%26secret%3D1', '{"note":"hello"}'])
    expect(sent?.headers.authorization).toBe('Bearer sk_live_1234567890')
  })

  it('refuse the purchase if they are missing, before anything is held', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok/{secret.TENANT}'))
    const buy = () => purchase(call, { token: shop.payer.token }, shop.item, OSLO)
    expectProblem(await buy(), 502, 'parameter_unreadable')
    await putParameters(call, shop.seller, shop.item, [{ kind: 'url', name: 'TENANT', value: '..' }])
    expectProblem(await buy(), 502, 'parameter_unreadable')
    expect([upstream.requests.length, await settledSums(call, shop)]).toEqual([0, [10, 0]])
    expect((await call('GET', '/v4/purchases', { token: shop.payer.token })).body.purchases).toEqual([])
  })
})
