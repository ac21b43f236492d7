import { expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

test('a receiver that calls the service back before it answers is answered, also on a stopped clock', async () => {
  const seen: number[] = []
  const service = createService({
    sandbox: true,
    allowUpstream: () => true,
    upstream: {
      async fetch() {
        seen.push((await service.fetch('/v4/dq')).status)
        return new Response(null, { status: 204 })
      },
    },
  })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 5 })
  const url = 'https://shop.example.test/hook'
  expect((await call('POST', '/v4/webhooks', { token: seller.token, body: { url, events: ['*'] } })).status).toBe(201)
  expect((await call('POST', `/v4/payment/${hash}`, { token: payer.token })).status).toBe(202)
  await expect.poll(() => seen).toEqual([200])
  await call('POST', '/_sandbox/clock', { body: { advance: '1m' } })
  await service.close()
})
