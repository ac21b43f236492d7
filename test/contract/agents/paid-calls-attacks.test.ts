import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { encodeHeader } from '../../../src/agents/x402/payload.js'
import { createService } from '../../../src/index.js'
import { OutcomeUnknown } from '../../../src/storage/storage.js'
import { type Answer, type Call, caller } from '../../support/api.js'
import { isWhole } from '../../support/how-much.js'
import { changeItem, newItem } from '../../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger, setClock, stopClock } from '../../support/scenes/market.js'
import { callItem, newPaidShop, offerIn, payHeader, postCall, signFor } from '../../support/scenes/paid-calls.js'
import { type OnSale, type Paying, payings, sales } from '../../support/scenes/sales.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newSeller } from '../../support/scenes/world.js'
import { heldBy, newAccount, newWallet, paymentOf, type Signing, settle, USDC_DQ } from '../../support/scenes/x402.js'

/** Whoever wants content without a payment, or two contents for one. */

const upstream = useUpstream()
const at = (path: string) => ({ external_endpoint: `${upstream.url}/${path}` })
const named = { 'payment-identifier': { info: { required: false, id: 'pay_0123456789abcdef' } } }

async function started(options: Parameters<typeof createService>[0] = {}) {
  const service = createService({ sandbox: true, ...options })
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

async function opened() {
  const { service, call } = await started()
  const shop = await newPaidShop(call, at('ok'))
  return { service, call, ...shop, account: await newWallet(call, 1) }
}

/** What happens to a payment that somebody bent or sent twice. Nothing is delivered for it, and nothing is charged. */
const attacks: Readonly<Record<string, (at: Attacked) => Promise<Answer>>> = {
  'of less': async ({ sale, sign }) => sale.ask(await sign({ amount: '9999' })),
  'of more': async ({ sale, sign }) => sale.ask(await sign({ amount: '10001' })),
  'of nothing': async ({ sale, sign }) => sale.ask(await sign({ amount: '0' })),
  'to another payee': async ({ sale, sign }) => sale.ask(await sign({ payTo: newAccount().address })),
  'that another key signed': async ({ sale, sign, paying }) => sale.ask(paying.forged(await sign())),
  'of an empty wallet': async ({ sale, paying, unpaid }) => sale.ask(await paying.sign(newAccount(), unpaid)),
  async 'that came too late'({ call, sale, sign, at }) {
    const header = await sign({ validBefore: at / 1000 + 60 })
    await setClock(call, at + 3_600_000)
    return sale.ask(header)
  },
}

interface Attacked {
  readonly call: Call
  readonly sale: OnSale
  readonly paying: Paying
  readonly unpaid: Answer
  readonly at: number
  sign(signing?: Signing): Promise<Record<string, string>>
}

const each = Object.entries(sales).flatMap(([what, open], sale) =>
  Object.entries(payings)
    // A dialect is read the same way for both: each pays for one of them, and the newest for both.
    .filter((_, dialect) => isWhole || dialect === 0 || dialect % 2 === 1 - sale)
    .map(([dialect, paying]) => [what, dialect, { open, paying }] as const),
)

describe.each(each)('%s, paid by %s', (_what, _dialect, { open, paying }) => {
  async function attacked(path = 'ok', options: Parameters<typeof createService>[0] = {}) {
    const { service, call } = await started(options)
    const at = await stopClock(call)
    const sale = await open(call, `${upstream.url}/${path}`)
    const account = await newWallet(call, 1)
    const unpaid = await sale.ask()
    const sign = (signing?: Signing) => paying.sign(account, unpaid, signing)
    return { service, call, sale, paying, account, unpaid, at, sign }
  }

  test.each(Object.entries(attacks))('refuses a payment %s', async (_, attack) => {
    const { service, call, account, ...at } = await attacked()
    const refused = await attack({ call, ...at })
    expectProblem(refused, 402, 'payment_required')
    expect([refused.headers.get('payment-required'), refused.headers.get('www-authenticate')]).toEqual([
      expect.any(String),
      expect.stringMatching(/^Payment /),
    ])
    expect(refused.headers.get('cache-control')).toContain('no-store')
    expect(['payment-receipt', 'x-payment-response'].map((name) => refused.headers.get(name))).toEqual([null, null])
    expect([await heldBy(call, account.address), upstream.requests]).toEqual([1, []])
    await service.close()
  })

  test('delivers once to 20 calls with one payment at once, and not again later', async () => {
    const { service, call, sale, account, sign } = await attacked('slow')
    const header = await sign()
    const answers = await Promise.all(Array.from({ length: 20 }, () => sale.ask(header)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array<number>(19).fill(409)])
    expectProblem(await sale.ask(header), 402, 'payment_required')
    expect(upstream.requests).toHaveLength(1)
    expect(await heldBy(call, account.address)).toBe(0.99)
    await expectSoundLedger(call)
    await service.close()
  })

  test('delivers one of two things for one payment', async () => {
    const { service, call, sale, account, sign } = await attacked('slow')
    const header = await sign()
    const answers = await Promise.all([sale.ask(header), sale.askOther(header)])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const again of [await sale.ask(header), await sale.askOther(header)]) expect(again.status).toBe(402)
    expect(upstream.requests).toHaveLength(1)
    expect(await heldBy(call, account.address)).toBe(0.99)
    await service.close()
  })

  test('delivers the same call again where settling is idempotent, and no other for the same payment', async () => {
    const { service, call, sale, account, sign } = await attacked('ok', { x402Settle: 'idempotent' })
    const header = await sign()
    const first = await sale.ask(header)
    const again = await sale.ask(header)
    expect([again.status, again.text]).toEqual([200, first.text])
    expectProblem(await sale.askOther(header), 402, 'payment_required')
    expect(upstream.requests).toHaveLength(1)
    expect(await heldBy(call, account.address)).toBe(0.99)
    await service.close()
  })

  test('says that the outcome is unknown if the storage does not, and asks for nothing new', async () => {
    const storage = memoryStorage()
    let losing = false
    const lossy = Object.assign(Object.create(storage), {
      async write(body: Parameters<typeof storage.write>[0]) {
        const written = await storage.write(body)
        if (losing) throw new OutcomeUnknown('the answer of the commit is lost')
        return written
      },
    })
    const { service, sale, sign } = await attacked('ok', { storage: lossy })
    const header = await sign()
    losing = true
    expectProblem(await sale.ask(header), 503, 'outcome_unknown')
    losing = false
    expect((await sale.ask(header)).status).not.toBe(402)
    await service.close()
  })

  test('leaves no signed payment in the journal, which may get content again', async () => {
    const { service, call, sale, sign } = await attacked()
    const header = await sign()
    expect((await sale.ask(header)).status).toBe(200)
    const { text } = await call('GET', '/_sandbox/requests?limit=100')
    expect(text).toContain('Oslo')
    for (const value of Object.values(header)) expect(text).not.toContain(value.replace('Payment ', ''))
    await service.close()
  })
})

test.each(['paymentHeader', 'payment_signature', 'x-payment', 'X_PAYMENT'])(
  'leaves no signed payment in the journal that came as the field %s',
  async (name) => {
    const { service, call } = await started()
    const payment = await paymentOf(await newWallet(call, 1))
    const header = encodeHeader(payment.paymentPayload)
    await settle(call, { ...payment, [name]: header })
    await settle(call, { [name]: header, x402Version: 1 })
    const { text } = await call('GET', '/_sandbox/requests?limit=100')
    for (const secret of [header, payment.paymentPayload.payload.signature]) expect(text).not.toContain(secret)
    await service.close()
  },
)

describe.each(Object.entries(sales))('%s, paid by x402', (_, open) => {
  async function onSale(path = 'ok', options: Parameters<typeof createService>[0] = {}) {
    const { service, call } = await started(options)
    return { service, call, sale: await open(call, `${upstream.url}/${path}`), account: await newWallet(call, 1) }
  }
  const signFor = async (sale: OnSale, account: PrivateKeyAccount, signing?: Signing) =>
    payHeader(account, offerIn(await sale.ask()), signing)

  test('30 calls with one identifier and 30 signatures deliver once', async () => {
    const { service, call, sale, account } = await onSale('slow')
    const offer = offerIn(await sale.ask())
    const headers = await Promise.all(
      Array.from({ length: 30 }, () => payHeader(account, offer, { extensions: named })),
    )
    const answers = await Promise.all(headers.map((header) => sale.ask(header)))
    expect(answers.filter(({ status }) => status === 402)).toEqual([])
    expect(upstream.requests).toHaveLength(1)
    expect(await heldBy(call, account.address)).toBe(0.99)
    await service.close()
  })

  test('the changed requirements in a header count for nothing', async () => {
    const { service, call, sale, account } = await onSale()
    const offer = offerIn(await sale.ask())
    const cheap = { ...offer, accepted: { ...offer.accepted, amount: '1' } }
    expect(offerIn(await sale.ask(await payHeader(account, cheap))).error).toContain('value_mismatch')
    const other = await newWallet(call, 0)
    const toSelf = { ...offer, accepted: { ...offer.accepted, payTo: other.address } }
    expect(offerIn(await sale.ask(await payHeader(account, toSelf))).error).toContain('recipient_mismatch')
    const worthless = { ...offer, accepted: { ...offer.accepted, asset: other.address } }
    expect(offerIn(await sale.ask(await payHeader(account, worthless))).error).toContain('signature')
    expect([await heldBy(call, account.address), upstream.requests]).toEqual([1, []])
    await service.close()
  })

  test('what has paid at the facilitator buys nothing here, and the other way round', async () => {
    const { service, call, sale, account } = await onSale('ok', { x402Settle: 'idempotent' })
    const offer = offerIn(await sale.ask())
    const { payTo } = offer.accepted
    const payment = await paymentOf(account, { payTo })
    expect((await settle(call, payment)).body.success).toBe(true)
    const nonce = payment.paymentPayload.payload.authorization.nonce
    const spent = await sale.ask(await payHeader(account, offer, { nonce }))
    expect(offerIn(spent).error).toBe('invalid_exact_evm_nonce_already_used')
    expect(upstream.requests).toEqual([])
    await service.close()
  })

  test("another payer's identifier gets nothing", async () => {
    const { service, call, sale, account } = await onSale()
    expect((await sale.ask(await signFor(sale, account, { extensions: named }))).status).toBe(200)
    const thief = await newWallet(call, 0)
    const stolen = await sale.ask(await signFor(sale, thief, { extensions: named }))
    expect(offerIn(stolen).error).toBe('invalid_exact_evm_insufficient_balance')
    await service.close()
  })

  test('charges nothing again if the content is encrypted with a different key', async () => {
    const storage = memoryStorage()
    const { call } = await started({ storage, encryptionKey: '11'.repeat(32) })
    const { call: other } = await started({ storage, encryptionKey: '22'.repeat(32) })
    const sale = await open(call, `${upstream.url}/ok`)
    const account = await newWallet(call, 1)
    const header = await signFor(sale, account, { extensions: named })
    expect((await sale.ask(header)).status).toBe(200)
    expectProblem(await sale.at(other).ask(header), 409, 'idempotency_unreadable')
    expect(await heldBy(call, account.address)).toBe(0.99)
  })
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
