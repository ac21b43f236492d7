import { afterEach, expect, test } from 'vitest'
import { createService, type Service } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newPaidShop, signFor } from '../support/scenes/paid-calls.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { heldBy, newWallet } from '../support/scenes/x402.js'

/** HEAD, which throws the body of an answer away. */

const upstream = useUpstream()
let service: Service
afterEach(() => service.close())

test.each([0.01, 0])('HEAD neither pays nor calls an item that costs %s', async (price) => {
  service = createService({ sandbox: true })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok`, price })
  const account = await newWallet(call, 1)
  const headers = price > 0 ? await signFor(call, account, item) : {}
  const url = `${service.baseUrl}/v4/catalog/items/${item.id}/call?city=Oslo`
  const refused = await service.fetch(new Request(url, { method: 'HEAD', headers }))
  expect([refused.status, refused.headers.get('allow')?.split(', ').sort()]).toEqual([405, ['GET', 'OPTIONS', 'POST']])
  expect([await heldBy(call, account.address), upstream.requests]).toEqual([1, []])
  const { status } = await service.fetch(
    new Request(`${service.baseUrl}/v4/catalog/items/${item.id}`, { method: 'HEAD' }),
  )
  expect(status).toBe(200)
})
