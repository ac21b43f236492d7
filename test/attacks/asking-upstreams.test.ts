import { describe, expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newItem, purchase } from '../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { callItem, newPaidShop } from '../support/scenes/paid-calls.js'
import { newMarket, paywall, settledBalances } from '../support/scenes/paywall.js'
import { payings, sales } from '../support/scenes/sales.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newPayer, newSeller } from '../support/scenes/world.js'
import { heldBy, newWallet } from '../support/scenes/x402.js'

/** A seller whose service answers 402 to whoever has paid, with an offer of its own: it delivers nothing, and gets nothing. */

const upstream = useUpstream()
const asking = () => `${upstream.url}/status/402/`

function started(options: Parameters<typeof createService>[0] = {}) {
  const service = createService({ sandbox: true, ...options })
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

const each = Object.entries(sales).flatMap(([what, open]) =>
  Object.entries(payings).map(([dialect, paying]) => [what, dialect, open, paying] as const),
)

describe.each(each)('%s, paid by %s', (_what, _dialect, open, paying) => {
  test('is not paid, and no offer of the upstream service comes back', async () => {
    const { service, call } = started()
    const sale = await open(call, asking())
    const account = await newWallet(call, 1)
    const answer = await sale.ask(await paying.sign(account, await sale.ask()))
    expectProblem(answer, 502, 'upstream_failed')
    expect(answer.text).not.toContain('as asked')
    expect(['payment-response', 'payment-receipt'].map((name) => answer.headers.get(name))).toEqual([null, null])
    expect(await heldBy(call, account.address)).toBe(1)
    await expectSoundLedger(call)
    await service.close()
  })
})

test('a free item that asks for a payment fails', async () => {
  const { service, call } = started()
  const { item } = await newPaidShop(call, { external_endpoint: asking(), price: 0 })
  expectProblem(await callItem(call, item), 502, 'upstream_failed')
  await service.close()
})

test('where failures are charged too, the answer still asks for nothing', async () => {
  const { service, call } = started({ chargeOnUpstreamError: true })
  const [, , open, paying] = each[0] ?? []
  const sale = await open?.(call, asking())
  const account = await newWallet(call, 1)
  const unpaid = await sale?.ask()
  const answer = unpaid && (await sale?.ask(await paying?.sign(account, unpaid)))
  expect([answer?.status, await heldBy(call, account.address)]).toEqual([502, 0.99])
  await service.close()
})

test('a purchase and a call of the paywall give the payment back', async () => {
  const { service, call } = started()
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 5 })
  const item = await newItem(call, seller, { external_endpoint: asking() })
  expectProblem(await purchase(call, payer, item, { arguments: { city: 'Oslo' } }), 502, 'upstream_failed')
  const market = await newMarket(call)
  const order = { amount: 1, destination: market.shop, serviceUrl: asking() }
  const { status, headers } = await paywall(call, { token: market.payer.token }, order)
  expect([status, headers.get('x-payment-status')]).toEqual([402, 'reversed'])
  expect(await settledBalances(call, market)).toEqual([10, 0])
  await service.close()
})
