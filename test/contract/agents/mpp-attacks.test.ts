import { expect, test } from 'vitest'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { payByMpp } from '../../support/scenes/mpp.js'
import { callItem, newPaidShop } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { heldBy, newWallet } from '../../support/scenes/x402.js'

/** Whoever sends one credential often. test/contract/agents/mpp-fuzz.test.ts changes credentials. */

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
