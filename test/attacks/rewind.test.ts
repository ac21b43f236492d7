import { expect, onTestFinished, test } from 'vitest'
import { type CardService, cardService, gate } from '../support/scenes/card-service.js'
import { newShop as newCatalogShop, purchase, settledSums } from '../support/scenes/catalog.js'
import { guest, newCheckout, newShop, settled, withCard } from '../support/scenes/checkout.js'
import { expectSoundLedger } from '../support/scenes/market.js'
import { newWebhook, startWithReceivers, until, writeEvent } from '../support/scenes/webhooks.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

const rewind = async ({ call }: Pick<CardService, 'call'>, to: string | null) => {
  const { status, body } = await call('POST', '/_sandbox/rewind', { body: { to } })
  expect([status, body?.code]).toEqual([204, undefined])
}

/** A place to return to: a named snapshot, or the state after a request. */
const places = {
  'a named snapshot': async ({ call }: Pick<CardService, 'call'>, name: string) => {
    expect((await call('POST', '/_sandbox/snapshots', { body: { name } })).status).toBe(201)
    return name
  },
  'a request': async ({ call }: Pick<CardService, 'call'>) =>
    (await call('POST', '/v4/account')).headers.get('x-request-id'),
}

for (const [kind, place] of Object.entries(places)) {
  test(`a purchase that runs during a rewind to ${kind} settles once or not at all`, async () => {
    for (const moment of ['before', 'during'] as const) {
      const { opened, open } = gate()
      let calls = 0
      const upstream = {
        async fetch() {
          calls++
          await opened
          return new Response('sunny')
        },
      }
      const running = await cardService({ upstream })
      const shop = await newCatalogShop(running.call, { price: 2 })
      const before = await place(running, 'before')
      const bought = purchase(running.call, { token: shop.payer.token }, shop.item, { arguments: { city: 'Bern' } })
      await until(() => calls === 1)
      const during = await place(running, 'during')
      await rewind(running, moment === 'before' ? before : during)
      open()
      const { status } = await bought
      const sums = await settledSums(running.call, shop)
      expect([moment, status, ...sums]).toEqual(moment === 'before' ? ['before', 502, 10, 0] : ['during', 201, 8, 2])
      // The call of that state is over, and nobody knows its answer any more.
      await rewind(running, during)
      await running.service.sandbox.advance('10m')
      expect(await settledSums(running.call, shop)).toEqual([10, 0])
      expect(calls).toBe(1)
      await rewind(running, before)
      expect(await settledSums(running.call, shop)).toEqual([10, 0])
    }
  })

  test(`a card that is being charged during a rewind to ${kind} is charged once at most`, async () => {
    for (const moment of ['before', 'during'] as const) {
      const { opened, open } = gate()
      const charged = new Set<string>()
      const running = await cardService({
        async charge({ id }) {
          charged.add(id)
          await opened
          return { status: 'succeeded', charge_id: `ch_${id}` }
        },
      })
      const { call, asked } = running
      const shop = await newShop(call, 'https://api.example.test/story')
      const link = await newCheckout(call, shop)
      const payer = await guest(call)
      const before = await place(running, 'before')
      const paying = withCard(call, link, payer)
      await until(() => asked.length === 1)
      const during = await place(running, 'during')
      await rewind(running, moment === 'before' ? before : during)
      open()
      const { status } = await paying
      const first = await settled(call, shop)
      expect([moment, status, first]).toEqual(
        moment === 'before'
          ? ['before', 502, { seller: 0, payer: 10, issued: 10 }]
          : ['during', 200, { seller: 2, payer: 10, issued: 12 }],
      )
      await rewind(running, during)
      await running.service.sandbox.advance('10m')
      await expectSoundLedger(call)
      // The processor knows the charge by its id, and takes nothing twice.
      expect(charged.size).toBe(1)
      await rewind(running, before)
      expect((await withCard(call, link, payer)).status).toBe(200)
      expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
      expect(charged.size).toBe(2)
    }
  })
}

test('forks, snapshots and rewinds at once, amid payments and moves of the clock, leave a sound ledger and new numbers', async () => {
  const running = await cardService()
  const { call, service } = running
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 50 })
  const early = (await call('GET', '/v4/dq')).headers.get('x-request-id')
  await call('POST', '/_sandbox/snapshots', { body: { name: 'start' } })
  const ids: number[] = []
  const pay = async () => {
    const { status, body } = await call('POST', `/v4/payment/${hash}`, { token: payer.token })
    expect(status).toBe(202)
    ids.push(body.id)
  }
  const ledgers: Promise<{ ok: boolean }>[] = []
  for (let round = 0; round < 4; round++)
    await Promise.all([
      ...Array.from({ length: 5 }, pay),
      rewind(running, 'start'),
      ...Array.from({ length: 5 }, pay),
      service.sandbox.advance('1s'),
      rewind(running, early),
      call('POST', '/_sandbox/snapshots', { body: { name: `round${round}` } }),
      service.sandbox.fork().then(async (fork) => {
        ledgers.push(fork.sandbox.ledger())
        await fork.sandbox.ledger()
        await fork.close()
      }),
      ...Array.from({ length: 5 }, pay),
      rewind(running, 'start'),
    ])
  for (const ledger of await Promise.all(ledgers)) expect(ledger.ok).toBe(true)
  await expectSoundLedger(call)
  expect(new Set(ids).size).toBe(ids.length)
  for (let round = 0; round < 4; round++) {
    await rewind(running, `round${round}`)
    await expectSoundLedger(call)
  }
})

test('webhooks amid rewinds: each delivery keeps one id, and no event shares its id with another', async () => {
  const { service, call, received } = startWithReceivers()
  onTestFinished(() => service.close())
  const seller = await newSeller(call)
  await newWebhook(call, seller)
  await call('POST', '/_sandbox/snapshots', { body: { name: 'start' } })
  const texts = new Map<number, string>()
  for (let round = 0; round < 5; round++) {
    const written = Array.from({ length: 6 }, async (_, n) => {
      const text = `${round}-${n}`
      texts.set(await writeEvent(call, seller, 'client.done', { text }), text)
    })
    await Promise.all([...written.slice(0, 3), rewind({ call }, 'start'), ...written.slice(3)])
  }
  const last = await writeEvent(call, seller, 'client.last')
  await until(() => received.some(({ event }) => event.id === last))
  expect(texts.size).toBe(30)
  const idsOf = new Map<number, Set<string>>()
  for (const { id, event } of received) {
    idsOf.set(event.id, new Set([...(idsOf.get(event.id) ?? []), id]))
    if (event.type === 'client.done') expect(event.data).toEqual({ text: texts.get(event.id) })
  }
  // An event whose delivery was rewound away is gone with it, so none is delivered under two ids.
  expect([...idsOf.values()].filter((ids) => ids.size > 1)).toEqual([])
  await expectSoundLedger(call)
})
