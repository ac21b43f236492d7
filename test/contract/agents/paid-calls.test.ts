import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { answerApproval, newAgentShop } from '../../support/scenes/approvals.js'
import { changeItem, newShop, settledSums } from '../../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger, fund } from '../../support/scenes/market.js'
import {
  callItem,
  newPaidShop,
  offerIn,
  payHeader,
  payHeaderV1,
  postCall,
  receiptIn,
  signFor,
} from '../../support/scenes/paid-calls.js'
import { newDelegate, newPersona } from '../../support/scenes/personas.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { balanceOf, newPayer } from '../../support/scenes/world.js'
import { fundAddress, heldBy, newAccount, newWallet, USDC_DQ } from '../../support/scenes/x402.js'

const named = (id = 'pay_7d5d747be160e280504c099d984bcfe0') => ({
  'payment-identifier': { info: { required: false, id }, schema: {} },
})

const upstream = useUpstream()
const at = (path: string) => ({ external_endpoint: `${upstream.url}/${path}` })

contract('callCatalogItemByGet', (start) => {
  it('GET /v4/catalog/items/{id}/call offers the call, and delivers it once it is paid', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const account = await newWallet(call, 1)
    const unpaid = await callItem(call, item)
    expect(unpaid.headers.get('cache-control')).toContain('no-store')
    const offer = offerIn(unpaid)
    expect(offer).toMatchObject({
      x402Version: 2,
      resource: { url: expect.stringContaining(`/v4/catalog/items/${item.id}/call`) },
      accepts: [{ scheme: 'exact', network: 'eip155:84532', amount: '10000', extra: { name: 'USDC', version: '2' } }],
    })
    expect(unpaid.body).toMatchObject({
      ...{ code: 'payment_required', x402Version: 1 },
      accepts: [{ network: 'base-sepolia', maxAmountRequired: '10000' }],
    })
    const paid = await callItem(call, item, await payHeader(account, offer))
    expect([paid.status, paid.text]).toEqual([200, '{"story":"The whole story."}'])
    expect(paid.headers.get('cache-control')).toBe('private')
    expect(paid.headers.get('content-type')).toBe('application/json')
    expect(paid.headers.get('x-payment-status')).toBe('posted')
    expect(receiptIn(paid)).toEqual({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: 'eip155:84532',
      payer: account.address,
      amount: '10000',
    })
    expect(await heldBy(call, account.address)).toBe(0.99)
    await expectSoundLedger(call)
  })

  it('is paid in version 1 too', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const account = await newWallet(call, 1)
    const header = await payHeaderV1(account, await callItem(call, item))
    const paid = await callItem(call, item, header)
    expect([paid.status, paid.body]).toEqual([200, { story: 'The whole story.' }])
    expect(receiptIn(paid, 'x-payment-response')).toEqual({
      ...{ success: true, transaction: expect.stringMatching(/^0x/) },
      ...{ network: 'base-sepolia', payer: account.address },
    })
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it('types the arguments in a query by the schema of the item', async () => {
    const { call } = await start()
    const list = { type: 'array', items: { type: 'integer' } }
    const properties = { city: { type: 'string' }, hours: { type: 'integer' }, wet: { type: 'boolean' }, days: list }
    const fields = { ...at('ok'), service_method: 'POST', service_schema: { type: 'object', properties } }
    const { item } = await newPaidShop(call, { ...fields, price: 0 })
    expect((await callItem(call, item, {}, 'city=1&hours=2&wet=true&days=3&days=4')).status).toBe(200)
    expect(JSON.parse(upstream.requests.at(-1)?.body ?? '')).toEqual({ city: '1', hours: 2, wet: true, days: [3, 4] })
    expectProblem(await callItem(call, item, {}, 'city=1&city=2'), 400, 'field_invalid')
    expectProblem(await callItem(call, item, {}, 'hours=soon'), 422, 'arguments_refused')
  })

  it('answers a call of a free item without a payment', async () => {
    const {
      call,
      state,
      made: { item },
    } = await startWith(start, newPaidShop, { ...at('ok'), price: 0 })
    const free = await callItem(call, item)
    expect([free.status, free.body]).toEqual([200, { story: 'The whole story.' }])
    expect(free.headers.get('x-payment-id')).toBeNull()
    expect((await state()).rows.purchases ?? []).toEqual([])
  })

  it('relays media types, bytes and statuses below 500, which are paid', async () => {
    const { call, made: shop } = await startWith(start, newPaidShop, at('bytes'))
    const account = await newWallet(call, 1)
    const image = await callItem(call, shop.item, await signFor(call, account, shop.item))
    expect(image.headers.get('content-type')).toBe('image/png')
    await changeItem(call, shop.seller, shop.item, at('status/404/'))
    const missing = await callItem(call, shop.item, await signFor(call, account, shop.item))
    expect([missing.status, missing.headers.get('x-payment-status')]).toEqual([404, 'posted'])
    expect(await heldBy(call, account.address)).toBe(0.98)
  })

  it('sells what is priced in another digital quantity, by its own token', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const account = await newWallet(call, 0)
    const link = { twin: shop.payer.hostname, address: account.address }
    expect((await call('POST', '/_sandbox/wallets', { body: link })).status).toBe(201)
    const offer = offerIn(await callItem(call, shop.item))
    expect(offer.accepted.asset.toLowerCase()).toBe(`0x${shop.item.dq.slice(2, 42)}`)
    expect((await callItem(call, shop.item, await payHeader(account, offer))).status).toBe(200)
    expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
    const { purchases } = (await call('GET', '/v4/purchases', shop.payer)).body
    expect(purchases).toMatchObject([{ amount: 0.25, status: 'paid' }])
  })

  it('refuses a payment in the words of its version, and offers the call again', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const poor = await newWallet(call, 0.005)
    const unpaid = await callItem(call, item)
    const refused = await callItem(call, item, await payHeader(poor, offerIn(unpaid)))
    expectProblem(refused, 402, 'payment_required')
    expect(offerIn(refused)).toMatchObject({ error: 'invalid_exact_evm_insufficient_balance', accepts: [{}] })
    expect(receiptIn(refused)).toMatchObject({ success: false, transaction: '', payer: poor.address })
    expect(refused.body.error).toContain('farthing fund')
    const refusedV1 = await callItem(call, item, await payHeaderV1(poor, unpaid))
    expect(refusedV1.body).toMatchObject({ code: 'payment_required', reason: 'insufficient_funds', accepts: [{}] })
    const later = await callItem(call, item, await payHeader(poor, offerIn(unpaid), { validAfter: 4_000_000_000 }))
    expect(offerIn(later).error).toBe('invalid_exact_evm_payload_authorization_valid_after')
    // An unknown address that signs gets a twin, so that it can be funded.
    const stranger = newAccount()
    expect(offerIn(await callItem(call, item, await payHeader(stranger, offerIn(unpaid)))).error).toContain('balance')
    expect(await heldBy(call, stranger.address)).toBe(0)
    expect(upstream.requests).toEqual([])
  })

  it('refuses what is malformed with 400', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const v1 = await payHeaderV1(newAccount(), await callItem(call, item))
    for (const [name, text] of [
      ['payment-signature', 'nonsense'],
      ['payment-signature', btoa('{}')],
      ['payment-signature', v1['x-payment']],
      ['x-payment', btoa('[]')],
    ] as const)
      expectProblem(await callItem(call, item, { [name]: text }), 400, 'header_malformed')
    const short = { 'payment-identifier': { info: { id: 'short' } } }
    const header = await signFor(call, newAccount(), item, { extensions: short })
    expectProblem(await callItem(call, item, header), 400, 'field_invalid')
  })

  it('gives the payment back if the endpoint fails, and the same signature pays later', async () => {
    const { call, made: shop } = await startWith(start, newPaidShop, at('status/503/'))
    const account = await newWallet(call, 1)
    const header = await signFor(call, account, shop.item, { extensions: named() })
    const failed = await callItem(call, shop.item, header)
    expectProblem(failed, 502, 'upstream_failed')
    expect([receiptIn(failed), failed.headers.get('x-payment-id')]).toEqual([undefined, null])
    expect(await heldBy(call, account.address)).toBe(1)
    await changeItem(call, shop.seller, shop.item, at('ok'))
    expect((await callItem(call, shop.item, header)).status).toBe(200)
    expect(await heldBy(call, account.address)).toBe(0.99)
    await changeItem(call, shop.seller, shop.item, { ...at('status/500/'), price: 0 })
    expectProblem(await callItem(call, shop.item), 502, 'upstream_failed')
  })

  it('answers 409 while the call runs, and refuses the signature afterwards', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('slow'))
    const account = await newWallet(call, 1)
    const header = await signFor(call, account, item)
    const answers = await Promise.all([callItem(call, item, header), callItem(call, item, header)])
    const [busy] = answers.filter(({ status }) => status !== 200)
    if (!busy) throw new Error('both delivered')
    expectProblem(busy, 409, 'idempotency_in_progress')
    expect(busy.headers.get('retry-after')).toBe('1')
    expect(offerIn(await callItem(call, item, header)).error).toBe('invalid_exact_evm_nonce_already_used')
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it('delivers what its payer named again, under another signature too, and charges once', async () => {
    const { call, made: shop } = await startWith(start, newPaidShop, at('ok'))
    const { item } = shop
    const account = await newWallet(call, 1)
    const offer = offerIn(await callItem(call, item))
    const header = await payHeader(account, offer, { extensions: named() })
    const first = await callItem(call, item, header)
    const other = await payHeader(account, offer, { extensions: named() })
    await changeItem(call, shop.seller, item, { price: 0.02 })
    for (const again of [await callItem(call, item, header), await callItem(call, item, other)]) {
      expect([again.status, again.text]).toEqual([200, first.text])
      expect(receiptIn(again)).toEqual(receiptIn(first))
      expect(again.headers.get('x-payment-id')).toBe(first.headers.get('x-payment-id'))
    }
    expect(upstream.requests).toHaveLength(1)
    expectProblem(await callItem(call, item, header, 'city=Bergen'), 409, 'payment_identifier_mismatch')
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it('refuses what is not for sale, arguments that do not match, and loops', async () => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newPaidShop, at('ok'))
    const header = await signFor(call, await newWallet(call, 1), item)
    expectProblem(await callItem(call, { id: 999 }, header), 404, 'not_found')
    expectProblem(await callItem(call, item, header, 'town=Oslo'), 422, 'arguments_refused')
    const loop = { ...header, via: '1.1 farthing, 1.1 farthing, 1.1 farthing' }
    expectProblem(await callItem(call, item, loop), 422, 'too_many_hops')
    await changeItem(call, seller, item, at('ok/{secret.TENANT}'))
    expectProblem(await callItem(call, item, header), 502, 'parameter_unreadable')
    await changeItem(call, seller, item, { private: true })
    expectProblem(await callItem(call, item, header), 404, 'not_found')
    await changeItem(call, seller, item, { private: false, active: false })
    expectProblem(await callItem(call, item, header), 409, 'item_inactive')
    expect(upstream.requests).toEqual([])
  })

  it("refuses to pay an item's own twin", async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const account = newAccount()
    const link = { twin: item.hostname, address: account.address }
    expect((await call('POST', '/_sandbox/wallets', { body: link })).status).toBe(201)
    await fundAddress(call, account.address, 1)
    expectProblem(await callItem(call, item, await signFor(call, account, item)), 422, 'same_twin')
  })

  it('limits free calls of an address', async () => {
    const { call } = await start({ limits: { freeCalls: 2 } })
    const { item } = await newPaidShop(call, { ...at('ok'), price: 0 })
    for (let n = 0; n < 2; n++) expect((await callItem(call, item)).status).toBe(200)
    expectProblem(await callItem(call, item), 429, 'too_many_calls')
  })
})

contract('callCatalogItem', (start) => {
  it('POST /v4/catalog/items/{id}/call takes the arguments as JSON', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, { ...at('ok'), service_method: 'POST' })
    const account = await newWallet(call, 1)
    const body = { city: 'Oslo', hours: 2 }
    const path = `/v4/catalog/items/${item.id}/call`
    const unpaid = await call('POST', path, { body })
    const headers = await payHeader(account, offerIn(unpaid))
    const paid = await call('POST', path, { body, headers })
    expect([paid.status, paid.body]).toEqual([200, { story: 'The whole story.' }])
    expect(JSON.parse(upstream.requests.at(-1)?.body ?? '')).toEqual(body)
    expect(await heldBy(call, account.address)).toBe(0.99)
    expectProblem(await call('POST', path, { body: { town: 'Oslo' }, headers }), 422, 'arguments_refused')
    expectProblem(await call('POST', path, { headers }), 422, 'arguments_refused')
  })

  it('refuses a key that is none, and charges nothing: 400 idempotency_key_invalid', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, { ...at('ok'), service_method: 'POST' })
    const account = await newWallet(call, 1)
    const path = `/v4/catalog/items/${item.id}/call`
    const body = { city: 'Oslo' }
    const headers = await payHeader(account, offerIn(await call('POST', path, { body })))
    const keyed = { ...headers, 'idempotency-key': 'x'.repeat(256) }
    expectProblem(await call('POST', path, { body, headers: keyed }), 400, 'idempotency_key_invalid')
    expect(await heldBy(call, account.address)).toBe(1)
  })

  it('refuses as a GET does', async () => {
    const { call } = await start({ limits: { freeCalls: 1 } })
    const { seller, item } = await newPaidShop(call, at('ok'))
    const account = await newWallet(call, 1)
    const sign = (signing = {}) => signFor(call, account, item, signing)
    const change = (body: object) => changeItem(call, seller, item, body)
    const header = await sign()
    expectProblem(await postCall(call, item, { 'x-payment': 'nonsense' }), 400, 'header_malformed')
    const short = { 'payment-identifier': { info: { id: 'short' } } }
    expectProblem(await postCall(call, item, await sign({ extensions: short })), 400, 'field_invalid')
    expectProblem(await postCall(call, { id: 999 }, header), 404, 'not_found')
    const loop = { ...header, via: '1.1 farthing, 1.1 farthing, 1.1 farthing' }
    expectProblem(await postCall(call, item, loop), 422, 'too_many_hops')
    await change(at('ok/{secret.TENANT}'))
    expectProblem(await postCall(call, item, header), 502, 'parameter_unreadable')
    await change(at('status/503/'))
    expectProblem(await postCall(call, item, header), 502, 'upstream_failed')
    await change({ active: false })
    expectProblem(await postCall(call, item, header), 409, 'item_inactive')
    await change({ active: true, ...at('slow') })
    const once = await sign({ extensions: named() })
    const both = await Promise.all([postCall(call, item, once), postCall(call, item, once)])
    const [busy] = both.filter(({ status }) => status !== 200)
    if (!busy) throw new Error('both delivered')
    expectProblem(busy, 409, 'idempotency_in_progress')
    expectProblem(await postCall(call, item, once, { city: 'Bergen' }), 409, 'payment_identifier_mismatch')
    const own = newAccount()
    await call('POST', '/_sandbox/wallets', { body: { twin: item.hostname, address: own.address } })
    await fundAddress(call, own.address, 1)
    expectProblem(await postCall(call, item, await signFor(call, own, item)), 422, 'same_twin')
    await change({ price: 0, ...at('ok') })
    expect((await postCall(call, item)).status).toBe(200)
    expectProblem(await postCall(call, item), 429, 'too_many_calls')
  })

  it("spends a delegate's authority, which a failed call does not use up", async () => {
    const { call, made: shop } = await startWith(start, newPaidShop, at('status/500/'))
    const owner = await newPayer(call, shop.seller)
    await fund(call, owner.hostname, 1)
    const persona = await newPersona(call, owner)
    const spend = { party: { client_id: shop.seller.clientId }, dq: USDC_DQ, limit: 0.015 }
    const delegate = await newDelegate(call, owner, { persona: persona.hash, hostname: owner.hostname, spend })
    await fund(call, persona.hostname, 1, USDC_DQ)
    const account = newAccount()
    const link = { delegate: delegate.hash, address: account.address }
    expect((await call('POST', '/_sandbox/wallets', { body: link })).status).toBe(201)
    const header = await signFor(call, account, shop.item)
    expectProblem(await callItem(call, shop.item, header), 502, 'upstream_failed')
    await changeItem(call, shop.seller, shop.item, at('ok'))
    expect((await callItem(call, shop.item, header)).status).toBe(200)
    const beyond = await callItem(call, shop.item, await signFor(call, account, shop.item))
    expect(offerIn(beyond).error).toBe('delegate_refused')
  })

  it("needs an approval above the threshold of an app's user, and spends it for the same call", async () => {
    const { call, payer, wallet, item } = await newAgentShop(start, at('ok'))
    const [{ id: connection }] = (await call('GET', '/v4/connections', payer)).body.connections
    const account = newAccount()
    const link = { connection, address: account.address }
    expect((await call('POST', '/_sandbox/wallets', { body: link })).body.hostname).toBe(wallet)
    const refused = await callItem(call, item, await signFor(call, account, item))
    expectProblem(refused, 402, 'payment_required')
    expect(refused.body).toMatchObject({ reason: 'approval_required', approval_id: expect.any(String) })
    expect(refused.body.error).toContain(refused.body.url)
    expect(offerIn(refused).error).toBe('approval_required')
    expect((await answerApproval(call, payer, refused.body.approval_id)).body.status).toBe('approved')
    const elsewhere = await callItem(call, item, await signFor(call, account, item), 'city=Bergen')
    expect(offerIn(elsewhere).error).toBe('approval_required')
    expect((await callItem(call, item, await signFor(call, account, item))).status).toBe(200)
    expect(offerIn(await callItem(call, item, await signFor(call, account, item))).error).toBe('approval_required')
    expect(await balanceOf(call, payer.token, wallet)).toBe(9.75)
  })
})
