import { afterEach, expect, test, vi } from 'vitest'
import { createService, type Service, type UpstreamRequest } from '../../src/index.js'
import { caller } from '../support/api.js'
import { gate } from '../support/scenes/card-service.js'
import { newItem } from '../support/scenes/carts.js'
import { purchase } from '../support/scenes/catalog.js'
import { balanceOf, newPayer, newSeller } from '../support/scenes/world.js'

let service: Service
afterEach(() => service.close())

test('a purchase that runs while its own state is restored is reversed, and its answer settles nothing', async () => {
  const { opened, open: release } = gate()
  const asked: string[] = []
  const upstream = {
    async fetch({ url }: UpstreamRequest) {
      asked.push(url)
      await opened
      return new Response('The story.')
    },
  }
  service = createService({ sandbox: true, upstream })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 10 })
  const item = await newItem(call, seller, { external_endpoint: 'https://api.example.test/story' })
  const bought = purchase(call, { token: payer.token }, item)
  await vi.waitUntil(() => asked.length === 1)
  const state = await service.sandbox.snapshot()
  await service.sandbox.restore(state)
  expect(await balanceOf(call, payer.token, payer.hostname)).toBe(10)
  release()
  expect((await bought).status).toBeGreaterThanOrEqual(400)
  expect(await balanceOf(call, payer.token, payer.hostname)).toBe(10)
  expect((await service.sandbox.ledger()).broken).toBeNull()
})
