import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { apply, change, type Json } from '../../support/changed-json.js'
import { howMuch } from '../../support/how-much.js'
import { payByMpp } from '../../support/scenes/mpp.js'
import { newPaidShop } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { fundAddress, heldBy, newWallet } from '../../support/scenes/x402.js'

/** Credentials that somebody has changed. Each is new, so that no earlier one has spent its nonce. */

const upstream = useUpstream()
const FUNDS = 500

/** What a credential says, however its numbers and addresses are spelled. */
const meaningOf = ({ challenge, payload }: any) => {
  const { from, to, nonce, signature, value, validAfter, validBefore } = payload
  return {
    challenge,
    texts: [from, to, nonce, signature].map((text) => text.toLowerCase()),
    numbers: [value, validAfter, validBefore].map((number) => BigInt(number)),
  }
}

const read = (header: string): any =>
  JSON.parse(Buffer.from(header.slice('Payment '.length), 'base64url').toString() || 'null')
const written = (credential: Json) => `Payment ${Buffer.from(JSON.stringify(credential)).toString('base64url')}`

const sending = fc.oneof(
  { weight: 8, arbitrary: fc.record({ change }) },
  { weight: 1, arbitrary: fc.record({ cut: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      scheme: fc.constantFrom('Payment ', 'payment', 'Payment e30, Bearer '),
      text: fc.string({ unit: 'grapheme-ascii' }),
    }),
  },
)
type Sending = typeof sending extends fc.Arbitrary<infer S> ? S : never

function headerOf(sending: Sending, honest: string): string {
  if ('change' in sending) return written(apply(read(honest), sending.change))
  if ('cut' in sending) return honest.slice(0, sending.cut % honest.length)
  return sending.scheme + sending.text
}

// Each asks for an offer and pays it: 20,000 requests in all, in four services.
const runs = howMuch(150, 2500)
const services = howMuch([1], [1, 2, 3, 4])

test.each(services)(`${runs} changed credentials deliver only what they say unchanged (service %i)`, async () => {
  const service = createService({ sandbox: true, journal: false })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  const account = await newWallet(call, 0)
  await fundAddress(call, account.address, FUNDS)
  const before = upstream.requests.length
  let paid = 0
  let refused = 0

  const property = fc.asyncProperty(sending, async (sending) => {
    const { authorization } = await payByMpp(call, account, item)
    const header = headerOf(sending, authorization)
    const url = `${service.baseUrl}/v4/catalog/items/${item.id}/call?city=Oslo`
    const { status, headers } = await service.fetch(new Request(url, { headers: { authorization: header } }))
    expect([200, 402]).toContain(status)
    expect(headers.has('payment-receipt')).toBe(status === 200)
    expect(headers.has('www-authenticate')).toBe(status === 402)
    if (status === 200) {
      paid++
      expect(meaningOf(read(header))).toEqual(meaningOf(read(authorization)))
    } else refused++
    expect(upstream.requests.length - before).toBe(paid)
  })
  await fc.assert(property, { numRuns: runs, endOnFailure: true })

  for (const times of [paid, refused]) expect(times).toBeGreaterThan(runs / 100)
  expect(await heldBy(call, account.address)).toBeCloseTo(FUNDS - paid / 100, 6)
  expect((await call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true })
  await service.close()
})
