import { describe, expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { quantityHash } from '../../src/money/digital-quantities/digital-quantity.js'
import { caller } from '../support/api.js'
import { newItem } from '../support/scenes/catalog.js'
import { expectProblem, setClock, stopClock } from '../support/scenes/market.js'
import { challengeIn, payChallenge } from '../support/scenes/mpp.js'
import { callItem, newPaidShop, offerIn, payHeader, postCall } from '../support/scenes/paid-calls.js'
import { newPaidWall, payWall } from '../support/scenes/paid-wall.js'
import { payings, sales } from '../support/scenes/sales.js'
import { useUpstream } from '../support/scenes/upstream.js'
import {
  fundAddress,
  heldBy,
  newAccount,
  newWallet,
  paymentOf,
  paymentV1Of,
  settle,
  verify,
} from '../support/scenes/x402.js'

/** Payments that are sent again: by who paid, who must not pay twice, and by who has a signature of theirs. */

const upstream = useUpstream()
const ID = 'pay_0123456789abcdef'
const named = { 'payment-identifier': { info: { id: ID } } }

function started(options: Parameters<typeof createService>[0] = {}) {
  const service = createService({ sandbox: true, ...options })
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

test('a repeated payment gets the same call again, in whatever order its arguments come', async () => {
  const { service, call } = started({ x402Settle: 'idempotent' })
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok`, service_method: 'POST' })
  const account = await newWallet(call, 1)
  const [one, other] = [
    { city: 'Oslo', hours: 2 },
    { hours: 2, city: 'Oslo' },
  ]
  const header = await payHeader(account, offerIn(await postCall(call, item, {}, one)))
  for (const body of [one, other]) expect((await postCall(call, item, header, body)).status).toBe(200)
  expect([upstream.requests.length, await heldBy(call, account.address)]).toEqual([1, 0.99])
  await service.close()
})

test('a named payment of MPP gets the same answer after its challenge has expired, and an unpaid one does not pay', async () => {
  const { service, call } = started()
  const now = await stopClock(call)
  const { order } = await newPaidWall(call, { serviceUrl: `${upstream.url}/ok` })
  const account = await newWallet(call, 1)
  const key = { 'idempotency-key': '5f0f7b6e-6d6d-4a8e-9c29-0d6c8a1f7b11' }
  const sign = async () => payChallenge(account, challengeIn(await payWall(call, order)))
  const [header, unused] = [{ ...key, ...(await sign()) }, await sign()]
  const first = await payWall(call, order, header)
  await setClock(call, now + 3_600_000)
  const again = await payWall(call, order, header)
  expect([again.status, again.text]).toEqual([200, first.text])
  const late = await payWall(call, order, unused)
  expect([late.status, late.body.title]).toEqual([402, 'Payment Expired'])
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

test('another address that is linked to the payee changes no offer', async () => {
  const { service, call } = started()
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  const link = async () => {
    const { body } = await call('POST', '/_sandbox/wallets', {
      body: { twin: item.hostname, address: newAccount().address },
    })
    return body.address
  }
  const first = await link()
  const account = await newWallet(call, 1)
  const header = await payHeader(account, offerIn(await callItem(call, item)))
  for (let n = 0; n < 6; n++) {
    await link()
    expect(offerIn(await callItem(call, item)).accepted.payTo).toBe(first)
  }
  const { items } = (await call('GET', '/x402/discovery/resources')).body
  expect(items[0].accepts[0].payTo).toBe(first)
  expect((await callItem(call, item, header)).status).toBe(200)
  await service.close()
})

test.each([1000, 5000, 9000])('MPP pays for a call with a query of %s characters', async (length) => {
  const { service, call } = started()
  const service_schema = { type: 'object', properties: { city: { type: 'string' } } }
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok`, service_schema })
  const account = await newWallet(call, 1)
  const query = `city=${'x'.repeat(length)}`
  const unpaid = await callItem(call, item, {}, query)
  // Node and browsers take 16 KB of headers, all together.
  expect(unpaid.headers.get('www-authenticate')?.length).toBeLessThan(1500)
  const header = await payChallenge(account, challengeIn(unpaid))
  expect((await callItem(call, item, header, `${query}x`)).status).toBe(402)
  expect((await callItem(call, item, header, query)).status).toBe(200)
  await service.close()
})

describe.each(Object.entries(sales))('%s', (_, open) => {
  test.each(Object.entries(payings))('pays once for one Idempotency-Key, by %s', async (_dialect, paying) => {
    const { service, call } = started()
    const sale = await open(call, `${upstream.url}/ok`)
    const key = { 'idempotency-key': '5f0f7b6e-6d6d-4a8e-9c29-0d6c8a1f7b11' }
    const [one, other] = [await newWallet(call, 1), await newWallet(call, 1)]
    const sign = async (account: typeof one) => ({ ...key, ...(await paying.sign(account, await sale.ask())) })
    const first = await sale.ask(await sign(one))
    const again = await sale.ask(await sign(one))
    expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
    expect(again.headers.get('x-payment-id')).toBe(first.headers.get('x-payment-id'))
    const elsewhere = await paying.sign(one, await sale.askOther())
    expectProblem(await sale.askOther({ ...key, ...elsewhere }), 409, 'payment_identifier_mismatch')
    expect(await heldBy(call, one.address)).toBe(0.99)
    expect((await sale.ask(await sign(other))).status).toBe(200)
    expect([await heldBy(call, other.address), upstream.requests.length]).toEqual([0.99, 2])
    for (const bad of ['', 'x'.repeat(256), '\u00e9'])
      expectProblem(await sale.ask({ ...(await sign(one)), 'idempotency-key': bad }), 400, 'idempotency_key_invalid')
    await service.close()
  })
})

test('a payment in another digital quantity of the same token pays for nothing', async () => {
  const { service, call } = started()
  const definition = { name: 'Fake Dollar', shortcode: 'USDC', shortdescription: 'Worthless.', decimals: 6 }
  await fundAddress(call, newAccount().address, 1)
  await call('POST', '/_sandbox/seed', { body: { digital_quantities: [definition] } })
  const dq = quantityHash(definition)
  const { seller, item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  const account = await newWallet(call, 0)
  expect((await call('POST', '/_sandbox/fund', { body: { address: account.address, amount: 1, dq } })).status).toBe(200)
  const header = await payHeader(account, offerIn(await callItem(call, item)))
  expect(offerIn(await callItem(call, item, header)).error).toBe('invalid_exact_evm_insufficient_balance')
  const fake = await newItem(call, seller, { external_endpoint: `${upstream.url}/ok`, price: 0.01, dq })
  const rich = await newWallet(call, 1)
  const forFake = await payHeader(rich, offerIn(await callItem(call, fake)))
  expect((await callItem(call, fake, forFake)).status).toBe(402)
  expect([await heldBy(call, rich.address), upstream.requests]).toEqual([1, []])
  await service.close()
})

test.each(['paymentPayload.resource.url', 'paymentRequirements.resource'])('%s has a limit', async (field) => {
  const { service, call } = started()
  const account = await newWallet(call, 1)
  const resource = `https://shop.example.test/${'x'.repeat(8192)}`
  const v1 = await paymentV1Of(account)
  const body = field.startsWith('paymentPayload')
    ? await paymentOf(account, { resource })
    : { ...v1, paymentRequirements: { ...v1.paymentRequirements, resource } }
  const refused = await settle(call, body)
  expectProblem(refused, 400, 'field_invalid')
  expect([refused.body.field, refused.body.error]).toEqual([field, expect.stringContaining('at most 8192 characters')])
  await service.close()
})

test('a named settlement is the same, however its amount and addresses are spelled', async () => {
  const { service, call } = started()
  const account = await newWallet(call, 1)
  const payment = await paymentOf(account, { extensions: named })
  const { body } = await settle(call, payment)
  const { amount, payTo, asset } = payment.paymentRequirements
  const spelled = { amount: `00${amount}`, payTo: payTo.toLowerCase(), asset: asset.toLowerCase() }
  const again = { ...payment, paymentRequirements: { ...payment.paymentRequirements, ...spelled } }
  expect((await settle(call, again)).body).toEqual(body)
  await service.close()
})

test('no line of a payment shows the password in the URL of a resource', async () => {
  const { service, call } = started()
  const account = await newWallet(call, 1)
  for (const resource of ['https://ada:hIdDeN@shop.example.test/', 'https://hIdDeN@shop.example.test/a?b=@'])
    expect((await settle(call, await paymentOf(account, { resource }))).body.success).toBe(true)
  expect((await settle(call, await paymentOf(account, { resource: 'https://shop.example.test/@ada' }))).status).toBe(
    200,
  )
  for (const path of ['rows/payments', 'rows/events', 'requests']) {
    const { text } = await call('GET', `/_sandbox/${path}?limit=100`)
    expect(text).not.toContain('hIdDeN')
    if (path === 'rows/payments') expect(text).toContain('https://shop.example.test/@ada')
  }
  await service.close()
})

/** What is no identifier. Whoever sends it means to pay once. */
const malformed = [
  ID,
  5,
  [],
  {},
  { info: null },
  { info: [ID] },
  { info: { id: null } },
  { id: ID },
  { info: { id: '' } },
]

describe.each(Object.entries(sales))('%s, paid by x402', (_, open) => {
  test.each(malformed)('refuses the payment identifier %j, and pays nothing', async (extension) => {
    const { service, call } = started()
    const sale = await open(call, `${upstream.url}/ok`)
    const account = await newWallet(call, 1)
    const extensions = { 'payment-identifier': extension }
    const answer = await sale.ask(await payHeader(account, offerIn(await sale.ask()), { extensions }))
    expectProblem(answer, 400, 'field_invalid')
    expect([await heldBy(call, account.address), upstream.requests]).toEqual([1, []])
    await service.close()
  })

  test('a signature for somebody else gets nothing of what its signer has named', async () => {
    const { service, call } = started()
    const sale = await open(call, `${upstream.url}/ok`)
    const account = await newWallet(call, 1)
    const offer = offerIn(await sale.ask())
    const header = await payHeader(account, offer, { extensions: named })
    expect((await sale.ask(header)).status).toBe(200)
    // As a shop has it, which the same payer paid.
    const stolen = await payHeader(account, offer, { payTo: newAccount().address, extensions: named })
    expect(offerIn(await sale.ask(stolen)).error).toBe('invalid_exact_evm_recipient_mismatch')
    expect((await sale.ask(header)).status).toBe(200)
    await service.close()
  })
})

test.each(malformed)('a facilitator refuses the payment identifier %j', async (extension) => {
  const { service, call } = started()
  const account = await newWallet(call, 1)
  const payment = await paymentOf(account, { extensions: { 'payment-identifier': extension } })
  for (const act of [verify, settle]) expectProblem(await act(call, payment), 400, 'field_invalid')
  expect(await heldBy(call, account.address)).toBe(1)
  await service.close()
})
