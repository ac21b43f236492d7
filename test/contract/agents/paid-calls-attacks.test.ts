import { expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { OutcomeUnknown } from '../../../src/storage/storage.js'
import { type Call, caller } from '../../support/api.js'
import { changeItem, newItem } from '../../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import {
  callItem,
  newPaidShop,
  offerIn,
  payHeader,
  payHeaderV1,
  postCall,
  signFor,
} from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newSeller } from '../../support/scenes/world.js'
import { heldBy, newWallet, paymentOf, settle, USDC_DQ } from '../../support/scenes/x402.js'

/** Whoever wants content without a payment, or two contents for one. */

const upstream = useUpstream()
const at = (path: string) => ({ external_endpoint: `${upstream.url}/${path}` })
const named = { 'payment-identifier': { info: { required: false, id: 'pay_0123456789abcdef' } } }

async function opened(options: Parameters<typeof createService>[0] = {}, path = 'ok') {
  const service = createService({ sandbox: true, ...options })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const shop = await newPaidShop(call, at(path))
  return { service, call, ...shop, account: await newWallet(call, 1) }
}

test('30 calls with one signature at once deliver once', async () => {
  const { service, call, item, account } = await opened({}, 'slow')
  const header = await signFor(call, account, item)
  const answers = await Promise.all(Array.from({ length: 30 }, () => callItem(call, item, header)))
  const statuses = answers.map(({ status }) => status).sort()
  expect(statuses).toEqual([200, ...Array<number>(29).fill(409)])
  expect(upstream.requests).toHaveLength(1)
  expect(await heldBy(call, account.address)).toBe(0.99)
  await expectSoundLedger(call)
  await service.close()
})

test('30 calls with one identifier and 30 signatures deliver once', async () => {
  const { service, call, item, account } = await opened({}, 'slow')
  const offer = offerIn(await callItem(call, item))
  const headers = await Promise.all(Array.from({ length: 30 }, () => payHeader(account, offer, { extensions: named })))
  const answers = await Promise.all(headers.map((header) => callItem(call, item, header)))
  expect(answers.filter(({ status }) => status === 402)).toEqual([])
  expect(upstream.requests).toHaveLength(1)
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

test('the payment for one item buys no other, and none at another price', async () => {
  const { service, call, seller, item, account } = await opened()
  const dear = await newItem(call, seller, { ...at('ok'), price: 0.02, dq: USDC_DQ })
  const strangers = await newItem(call, await newSeller(call), { ...at('ok'), price: 0.01, dq: USDC_DQ })
  const header = await signFor(call, account, item)
  expect(offerIn(await callItem(call, strangers, header)).error).toBe('invalid_exact_evm_recipient_mismatch')
  const elsewhere = offerIn(await callItem(call, dear, header)).error
  expect(elsewhere).toBe('invalid_exact_evm_recipient_mismatch')
  expect(upstream.requests).toEqual([])
  await changeItem(call, seller, item, { price: 0.03 })
  const raised = offerIn(await callItem(call, item, header))
  expect([raised.error, raised.accepted.amount]).toEqual([
    'invalid_exact_evm_payload_authorization_value_mismatch',
    '30000',
  ])
  await changeItem(call, seller, item, { price: 0.01 })
  expect((await callItem(call, item, header)).status).toBe(200)
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

test('the changed requirements in a header count for nothing', async () => {
  const { service, call, item, account } = await opened()
  const offer = offerIn(await callItem(call, item))
  const cheap = { ...offer, accepted: { ...offer.accepted, amount: '1' } }
  expect(offerIn(await callItem(call, item, await payHeader(account, cheap))).error).toContain('value_mismatch')
  const other = await newWallet(call, 0)
  const toSelf = { ...offer, accepted: { ...offer.accepted, payTo: other.address } }
  expect(offerIn(await callItem(call, item, await payHeader(account, toSelf))).error).toContain('recipient_mismatch')
  const worthless = { ...offer, accepted: { ...offer.accepted, asset: other.address } }
  expect(offerIn(await callItem(call, item, await payHeader(account, worthless))).error).toContain('signature')
  expect([await heldBy(call, account.address), upstream.requests]).toEqual([1, []])
  await service.close()
})

test('an item that is archived or private in between is not paid', async () => {
  const { service, call, seller, item, account } = await opened()
  const header = await signFor(call, account, item)
  await changeItem(call, seller, item, { private: true })
  expectProblem(await callItem(call, item, header), 404, 'not_found')
  await call('POST', `/v4/catalog/items/${item.id}/archive`, { token: seller.token })
  await changeItem(call, seller, item, { private: false })
  expectProblem(await callItem(call, item, header), 404, 'not_found')
  expect([await heldBy(call, account.address), upstream.requests]).toEqual([1, []])
  await service.close()
})

test('what has paid at the facilitator buys nothing here, and the other way round', async () => {
  const { service, call, item, account } = await opened({ x402Settle: 'idempotent' })
  const offer = offerIn(await callItem(call, item))
  const { payTo } = offer.accepted
  const payment = await paymentOf(account, { payTo })
  expect((await settle(call, payment)).body.success).toBe(true)
  const nonce = payment.paymentPayload.payload.authorization.nonce
  const spent = await callItem(call, item, await payHeader(account, offer, { nonce }))
  expect(offerIn(spent).error).toBe('invalid_exact_evm_nonce_already_used')
  expect(upstream.requests).toEqual([])
  await service.close()
})

test('a shop that settles again delivers the same call again, and no other for the same signature', async () => {
  const { service, call, item, account } = await opened({ x402Settle: 'idempotent' })
  const header = await signFor(call, account, item)
  const first = await callItem(call, item, header)
  const again = await callItem(call, item, header)
  expect([again.status, again.text]).toEqual([200, first.text])
  const elsewhere = await callItem(call, item, header, 'city=Bergen')
  expect(offerIn(elsewhere).error).toBe('invalid_exact_evm_nonce_already_used')
  expect(upstream.requests).toHaveLength(1)
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

test("another payer's identifier gets nothing", async () => {
  const { service, call, item, account } = await opened()
  expect((await callItem(call, item, await signFor(call, account, item, { extensions: named }))).status).toBe(200)
  const thief = await newWallet(call, 0)
  const stolen = await callItem(call, item, await signFor(call, thief, item, { extensions: named }))
  expect(offerIn(stolen).error).toBe('invalid_exact_evm_insufficient_balance')
  await service.close()
})

const ways = { callCatalogItemByGet: callItem, callCatalogItem: postCall }

test.each(Object.entries(ways))(
  '%s charges nothing again if its content is encrypted with a different key',
  async (_, way) => {
    const storage = memoryStorage()
    const [one, other] = ['11', '22'].map((byte) => {
      const service = createService({ storage, sandbox: true, encryptionKey: byte.repeat(32) })
      return caller({ url: service.baseUrl, fetch: service.fetch })
    }) as [Call, Call]
    const { item } = await newPaidShop(one, at('ok'))
    const account = await newWallet(one, 1)
    const header = await signFor(one, account, item, { extensions: named })
    expect((await way(one, item, header)).status).toBe(200)
    expectProblem(await way(other, item, header), 409, 'idempotency_unreadable')
    expect(await heldBy(one, account.address)).toBe(0.99)
  },
)

test.each(Object.entries(ways))('%s says that only the seller can fix a schema that is now refused', async (_, way) => {
  const { service, call, item, account } = await opened()
  const header = await signFor(call, account, item)
  const snapshot = (await call('GET', '/_sandbox/snapshot')).body
  // As an older version kept it.
  for (const row of snapshot.rows.catalog_items) row.service_schema = { ...row.service_schema, $ref: '#/$defs/a' }
  expect((await call('PUT', '/_sandbox/snapshot', { body: snapshot })).status).toBe(204)
  expectProblem(await way(call, item, header), 422, 'schema_refused')
  await service.close()
})

test('a storage that does not say whether a payment landed is no reason to sign again', async () => {
  const storage = memoryStorage()
  let losing = false
  const lossy = Object.assign(Object.create(storage), {
    async write(body: Parameters<typeof storage.write>[0]) {
      const written = await storage.write(body)
      if (losing) throw new OutcomeUnknown('the answer of the commit is lost')
      return written
    },
  })
  const { service, call, item, account } = await opened({ storage: lossy })
  const header = await signFor(call, account, item)
  losing = true
  expectProblem(await callItem(call, item, header), 503, 'outcome_unknown')
  losing = false
  expect((await callItem(call, item, header)).status).not.toBe(402)
  await service.close()
})

test('a price that rises after the payment was read is not paid at the old one', async () => {
  const storage = memoryStorage()
  const plain = createService({ storage, sandbox: true })
  const call = caller({ url: plain.baseUrl, fetch: plain.fetch })
  const { seller, item } = await newPaidShop(call, at('ok'))
  let between: (() => Promise<unknown>) | undefined
  const watched = Object.assign(Object.create(storage), {
    async write(body: Parameters<typeof storage.write>[0]) {
      const [before] = [between]
      between = undefined
      await before?.()
      return storage.write(body)
    },
  })
  const service = createService({ storage: watched, sandbox: true })
  const buy = caller({ url: service.baseUrl, fetch: service.fetch })
  const account = await newWallet(call, 1)
  const header = await signFor(buy, account, item)
  between = () => changeItem(call, seller, item, { price: 0.05 })
  const raised = offerIn(await callItem(buy, item, header))
  expect([raised.error.split('_').at(-2), raised.accepted.amount]).toEqual(['value', '50000'])
  await changeItem(call, seller, item, { price: 0.01 })
  between = () => changeItem(call, seller, item, { price: 0 })
  expect((await callItem(buy, item, header)).status).toBe(402)
  expect([await heldBy(call, account.address), upstream.requests]).toEqual([1, []])
})

test('the journal shows no signed payment, which may get content again', async () => {
  const { service, call, item, account } = await opened()
  const v2 = await signFor(call, account, item)
  const v1 = await payHeaderV1(account, await callItem(call, item))
  for (const header of [v2, v1]) expect((await callItem(call, item, header)).status).toBe(200)
  const { text } = await call('GET', '/_sandbox/requests?limit=100')
  expect(text).toContain('/call?city=Oslo')
  for (const [value] of [v2, v1].map((header) => Object.values(header))) expect(text).not.toContain(value)
  await service.close()
})
