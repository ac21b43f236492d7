import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { howMuch } from '../../support/how-much.js'
import { payByMpp } from '../../support/scenes/mpp.js'
import { newPaidShop } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { fundAddress, heldBy, newWallet } from '../../support/scenes/x402.js'

/** Credentials with one value changed. Each is new, so that no earlier one has spent its nonce. */

const upstream = useUpstream()
const FUNDS = 500

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** The value with its `at`th part replaced, counted from the whole. */
function changed(value: Json, at: number, change: (old: Json) => Json): Json {
  let left = at
  const visit = (each: Json): Json => {
    if (left-- === 0) return change(each)
    if (typeof each !== 'object' || each === null) return each
    return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, visit(inner)]))
  }
  return visit(value)
}

const bends: ((text: string, at: number) => string)[] = [
  (text, at) =>
    text.slice(0, at % text.length) + (text[at % text.length] === '1' ? '2' : '1') + text.slice((at % text.length) + 1),
  (text) => text.slice(0, -1),
  (text) => text + text,
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
]
const change = fc.oneof(
  fc.record({ bend: fc.constantFrom(...bends), at: fc.nat() }),
  fc.record({ by: fc.oneof(fc.jsonValue(), fc.string(), fc.integer()) as fc.Arbitrary<Json> }),
)

/** What a credential says, however its numbers and addresses are spelled. */
const meaningOf = ({ challenge, payload }: any) => {
  const { from, to, nonce, signature, value, validAfter, validBefore } = payload
  return {
    challenge,
    texts: [from, to, nonce, signature].map((text) => text.toLowerCase()),
    numbers: [value, validAfter, validBefore].map((number) => BigInt(number)),
  }
}

// Each asks for an offer and pays it: 20,000 requests in all, in four services.
const runs = howMuch(300, 2500)
const services = howMuch([1], [1, 2, 3, 4])

test.each(services)(`${runs} changed credentials deliver only what they say unchanged (service %i)`, async () => {
  const service = createService({ sandbox: true, journal: false })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  const account = await newWallet(call, 0)
  await fundAddress(call, account.address, FUNDS)
  const before = upstream.requests.length
  let paid = 0

  const property = fc.asyncProperty(fc.integer({ min: 0, max: 18 }), change, async (place, how) => {
    const { authorization } = await payByMpp(call, account, item)
    const honest = JSON.parse(Buffer.from(authorization.slice('Payment '.length), 'base64url').toString())
    const sent = changed(honest, place, (old) =>
      'by' in how ? how.by : typeof old === 'string' && old !== '' ? how.bend(old, how.at) : null,
    )
    const header = `Payment ${Buffer.from(JSON.stringify(sent)).toString('base64url')}`
    const url = `${service.baseUrl}/v4/catalog/items/${item.id}/call?city=Oslo`
    const { status } = await service.fetch(new Request(url, { headers: { authorization: header } }))
    expect([200, 402]).toContain(status)
    if (status === 200) {
      paid++
      expect(meaningOf(sent)).toEqual(meaningOf(honest))
    }
    expect(upstream.requests.length - before).toBe(paid)
  })
  await fc.assert(property, { numRuns: runs, endOnFailure: true })

  expect(paid).toBeGreaterThan(0)
  expect(await heldBy(call, account.address)).toBeCloseTo(FUNDS - paid / 100, 6)
  await service.close()
})
