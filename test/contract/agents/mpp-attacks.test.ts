import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { howMuch } from '../../support/how-much.js'
import { payByMpp } from '../../support/scenes/mpp.js'
import { callItem, newPaidShop } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { heldBy, newWallet } from '../../support/scenes/x402.js'

/** Whoever sends a credential that is none. */

const upstream = useUpstream()

async function opened(path: string) {
  const service = createService({ sandbox: true })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/${path}` })
  return { service, call, item, account: await newWallet(call, 1) }
}

test('20 calls with one credential at once deliver once', async () => {
  const { service, call, item, account } = await opened('slow')
  const header = await payByMpp(call, account, item)
  const answers = await Promise.all(Array.from({ length: 20 }, () => callItem(call, item, header)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(upstream.requests).toHaveLength(1)
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A credential with one of its values replaced, at any depth. */
function mutated(value: unknown, at: number, by: unknown): unknown {
  let left = at
  const visit = (each: unknown): unknown => {
    if (left-- === 0) return by
    if (typeof each !== 'object' || each === null) return each
    return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, visit(inner)]))
  }
  return visit(value)
}

test('a header that was changed in any way is refused, or pays as it was signed', async () => {
  const { service, item, call, account } = await opened('ok')
  const { authorization } = await payByMpp(call, account, item)
  const credential = JSON.parse(Buffer.from(authorization.slice('Payment '.length), 'base64url').toString())
  const broken = fc
    .tuple(fc.integer({ min: 0, max: 20 }), fc.oneof(fc.json(), fc.string(), fc.integer(), fc.constant(null)))
    .map(([at, by]) => `Payment ${json(mutated(credential, at, by))}`)
  const nonsense = fc
    .tuple(fc.constantFrom('Payment ', 'payment', 'Payment e30, Bearer '), fc.string({ unit: 'grapheme-ascii' }))
    .map(([scheme, text]) => `${scheme}${text}`)
  const cut = fc.integer({ min: 0, max: authorization.length - 1 }).map((length) => authorization.slice(0, length))
  await fc.assert(
    fc.asyncProperty(fc.oneof(broken, nonsense, cut), async (header) => {
      const url = `${service.baseUrl}/v4/catalog/items/${item.id}/call?city=Oslo`
      const answer = await service.fetch(new Request(url, { headers: { authorization: header } }))
      expect([402, 200]).toContain(answer.status)
      // `source` and the letters' case may change, and the payment is the same.
      expect(answer.status === 200).toBe(answer.headers.has('payment-receipt'))
      expect(answer.status === 402).toBe(answer.headers.has('www-authenticate'))
    }),
    { numRuns: howMuch(200, 20_000) },
  )
  const paid = Math.round((1 - ((await heldBy(call, account.address)) ?? 0)) * 100)
  expect(upstream.requests).toHaveLength(paid)
  await service.close()
})
