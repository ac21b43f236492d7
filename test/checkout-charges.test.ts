import { expect, test } from 'vitest'
import { testProcessor } from '../src/cards/test-processor.js'
import { type Cards, createService } from '../src/index.js'
import { systemAlarm } from '../src/ports.js'
import { caller } from './support/api.js'
import { guest, newCheckout, newShop, settled, statusOf, withCard } from './support/checkout.js'

/** A shop that delivers, or does not, while the clock stands still, by a processor that is changed as the test needs it. */
async function prepared(changed: (cards: Cards) => Partial<Cards>, { delivers = true } = {}) {
  const known = testProcessor({ alarm: systemAlarm })
  const service = createService({
    sandbox: true,
    cards: { ...known, ...changed(known) },
    upstream: { fetch: async () => new Response('The story.', { status: delivers ? 200 : 503 }) },
    log: { error() {} },
  })
  await service.sandbox.setClock({ mode: 'manual' })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const shop = await newShop(call, 'https://api.example.test/story')
  return { service, call, shop, link: await newCheckout(call, shop), reader: await guest(call) }
}

test('a card that is charged after a thousand tries in vain is charged once, and pays', async () => {
  const charged: string[] = []
  const { service, call, shop, link, reader } = await prepared((known) => ({
    async charge(charge) {
      const result = await known.charge(charge)
      if (result.status === 'succeeded') charged.push(charge.id)
      return result
    },
  }))
  const other = await guest(call)
  for (let tries = 0; tries < 1000; tries++) await withCard(call, link, other, 'pm_processor_down')
  expect((await withCard(call, link, reader)).status).toBe(200)
  expect(charged).toHaveLength(1)
  expect(await statusOf(call, link)).toBe('paid')
  expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  await service.close()
}, 120_000)
