import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeHeader } from '../../src/agents/x402/payload.js'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { apply, change, type Json } from '../support/changed-json.js'
import { howMuch } from '../support/how-much.js'
import { newPaidShop, offerIn, postCall } from '../support/scenes/paid-calls.js'
import { sales } from '../support/scenes/sales.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { fundAddress, heldBy, newWallet, paymentOf, paymentV1Of, SHOP, settle, verify } from '../support/scenes/x402.js'

/** Payments of both versions that somebody has changed, in the headers of what is sold and at the facilitator. */

const upstream = useUpstream()
const FUNDS = 500
// 20,000 in all: in the headers of three sales, and in bodies.
const runs = howMuch(120, 4000)
const bodies = howMuch(150, 8000)

async function opened() {
  const service = createService({ sandbox: true, journal: false })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const account = await newWallet(call, 0)
  await fundAddress(call, account.address, FUNDS)
  return { service, call, account }
}

const changedBy = (body: object, changes: readonly Parameters<typeof apply>[1][]) =>
  changes.reduce<Json>(
    (each, one) => (each !== null && typeof each === 'object' ? apply(each, one) : each),
    body as Json,
  )

const signedFields = ['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'] as const
const forgery = fc.option(fc.record({ field: fc.constantFrom('signature' as const, ...signedFields), at: fc.nat() }), {
  freq: 2,
})
type Forgery = typeof forgery extends fc.Arbitrary<infer F> ? F : never

/** The payment with another digit in what is signed, or in the signature. */
function forged<P extends { payload: any }>(payment: P, forgery: Forgery): P {
  if (forgery === null) return payment
  const { field, at } = forgery
  const copy = structuredClone(payment)
  const holder = field === 'signature' ? copy.payload : copy.payload.authorization
  const text: string = holder[field]
  const start = text.startsWith('0x') ? 2 : 0
  const place = start + (at % (text.length - start))
  holder[field] = text.slice(0, place) + (text[place] === '1' ? '2' : '1') + text.slice(place + 1)
  return copy
}

/** What is signed, however its numbers, addresses and the last byte of the signature are spelled. */
const signedIn = ({ payload: { signature, authorization } }: any) => {
  const { from, to, nonce, value, validAfter, validBefore } = authorization
  return {
    signature: signature.toLowerCase().replace(/00$/, '1b').replace(/01$/, '1c'),
    texts: [from, to, nonce].map((text) => text.toLowerCase()),
    numbers: [value, validAfter, validBefore].map((number) => BigInt(number)),
  }
}

const sold: Readonly<Record<string, (typeof sales)[string]>> = {
  ...sales,
  async 'an item by POST'(call, endpoint) {
    const { item } = await newPaidShop(call, { external_endpoint: endpoint })
    const ask = (headers?: Record<string, string>) => postCall(call, item, headers)
    return { ask, askOther: ask, at: () => expect.unreachable() }
  },
}

/** A call by POST reads these headers as one by GET does. */
const tried = Object.entries(howMuch(sales, sold))

test.each(tried)(`%s: ${runs} changed headers deliver only what was signed for it`, async (_, open) => {
  const { service, call, account } = await opened()
  const sale = await open(call, `${upstream.url}/ok`)
  const unpaid = await sale.ask()
  const { payTo, amount, asset, network, extra } = offerIn(unpaid).accepted
  const terms = { payTo, asset, network, ...extra }
  const before = upstream.requests.length
  const seen = { paid: 0, refused: 0, malformed: 0 }
  const sending = fc.record({
    version: fc.constantFrom(1, 2),
    // Too little is signed as well as what is due.
    signed: fc.constantFrom(amount, amount, '1'),
    changes: fc.oneof(fc.constant([]), fc.array(change, { maxLength: 3 })),
    cut: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat() }),
    forgery,
  })

  const property = fc.asyncProperty(sending, async ({ version, signed, changes, cut, forgery }) => {
    const signing = { ...terms, amount: signed }
    const paying = version === 2 ? paymentOf(account, signing) : paymentV1Of(account, signing)
    const { paymentPayload: honest } = await paying
    const sent = changedBy(forged(honest, forgery), changes)
    const whole = encodeHeader(sent as object)
    const header = cut === null ? whole : whole.slice(0, cut % (whole.length + 1))
    const headers = { [version === 2 ? 'payment-signature' : 'x-payment']: header }
    const answer = await sale.ask(headers)
    expect([200, 400, 402]).toContain(answer.status)
    if (answer.status === 400) seen.malformed++
    else if (answer.status === 402) seen.refused++
    else {
      seen.paid++
      expect(signed).toBe(amount)
      expect(signedIn(sent)).toEqual(signedIn(honest))
    }
    expect(upstream.requests.length - before).toBe(seen.paid)
  })
  await fc.assert(property, { numRuns: runs, endOnFailure: true })

  expect(await heldBy(call, account.address)).toBeCloseTo(FUNDS - seen.paid / 100, 6)
  expect((await call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true })
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(runs / 60)
  await service.close()
})

test(`${bodies} changed bodies of version 1 move only what was signed`, async () => {
  const { service, call, account } = await opened()
  const seen = { paid: 0, refused: 0, malformed: 0 }
  const sending = fc.record({
    forgery,
    act: fc.constantFrom(settle, verify),
    changes: fc.oneof(fc.constant([]), fc.array(change, { maxLength: 3 })),
  })

  const property = fc.asyncProperty(sending, async ({ act, changes, forgery }) => {
    const honest = await paymentV1Of(account)
    const sent = changedBy({ ...honest, paymentPayload: forged(honest.paymentPayload, forgery) }, changes) as any
    const { status, body } = await act(call, sent)
    expect([200, 400]).toContain(status)
    if (status === 400) return void seen.malformed++
    if (!(body.success ?? body.isValid)) return void seen.refused++
    expect(signedIn(sent.paymentPayload)).toEqual(signedIn(honest.paymentPayload))
    if (act === settle) seen.paid++
  })
  await fc.assert(property, { numRuns: bodies, endOnFailure: true })

  expect(await heldBy(call, account.address)).toBeCloseTo(FUNDS - seen.paid / 100, 6)
  expect((await heldBy(call, SHOP)) ?? 0).toBeCloseTo(seen.paid / 100, 6)
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(bodies / 100)
  await service.close()
})
