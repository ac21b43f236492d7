import { describe, expect, test } from 'vitest'
import { createService, type Fault } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { hastened, hostileModes } from '../support/docs/hostile-modes.js'
import { callItem, newPaidShop, offerIn, payHeader } from '../support/scenes/paid-calls.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { heldBy, newWallet, paymentOf, settle } from '../support/scenes/x402.js'

const upstream = useUpstream()

test('the tables have every mode of the field x402', () => {
  const named = new Set(hostileModes.flatMap(({ fault }) => fault.do.x402 ?? []))
  expect([...named].sort()).toEqual([
    ...['expensive_offer', 'late', 'other_receipt', 'settlement_pending', 'settlement_pending_always'],
    ...['success_false', 'wrong_payer'],
  ])
})

async function opened(fault: Fault) {
  const service = createService({ sandbox: true })
  const fetch = (request: Request) => service.fetch(request)
  const call = caller({ url: service.baseUrl, fetch })
  const arm = async () => expect((await call('POST', '/_sandbox/faults', { body: hastened(fault) })).status).toBe(201)
  const fired = async () => (await service.sandbox?.faults.list())?.[0]?.fired
  return { service, call, arm, fired, account: await newWallet(call) }
}

const left = (ledger: string): number => (ledger.startsWith('nothing') ? 1 : 0.99)

describe('a hostile facilitator', () => {
  const modes = hostileModes.filter(({ isShop }) => !isShop)

  test.each(modes)('$mode: the control arms it, and the ledger does what the table says', async ({ ledger, fault }) => {
    const { service, call, arm, fired, account } = await opened(fault)
    try {
      await arm()
      const payment = await paymentOf(account)
      const path = fault.match.operation_id === 'verifyX402Payment' ? '/x402/verify' : '/x402/settle'
      const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(payment) }
      for (let tries = 0; tries < 2; tries++)
        await service.fetch(new Request(service.baseUrl + path, sent)).catch(() => undefined)
      expect(await fired()).toBeGreaterThan(0)
      expect(await heldBy(call, account.address)).toBe(left(ledger))
      await call('DELETE', '/_sandbox/faults')
      // What it did not settle then, it settles now.
      await settle(call, payment)
      expect(await heldBy(call, account.address)).toBe(0.99)
    } finally {
      await service.close()
    }
  })
})

describe('a hostile shop', () => {
  const modes = hostileModes.filter(({ isShop }) => isShop)

  /** Signs what the shop offers on this network, and pays twice with it. */
  async function buy(call: Call, item: { id: number }, account: Awaited<ReturnType<typeof newWallet>>) {
    const offer = offerIn(await callItem(call, item))
    const accepted = offer.accepts.find(({ network }: { network: string }) => network.startsWith('eip155:'))
    const header = await payHeader(account, { ...offer, accepted })
    const first = await callItem(call, item, header).catch(() => undefined)
    await callItem(call, item, header)
    return first
  }

  test.each(modes)('$mode: the control arms it, and the ledger does what the table says', async ({ ledger, fault }) => {
    const { service, call, arm, fired, account } = await opened(fault)
    try {
      const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
      const before = upstream.requests.length
      await arm()
      const first = await buy(call, item, account)
      expect(await fired()).toBeGreaterThan(0)
      expect(await heldBy(call, account.address)).toBe(left(ledger))
      expect(upstream.requests.length - before).toBe(ledger.startsWith('nothing') ? 0 : 1)
      if (fault.do.raise_price) expect(offerIn(first as never).accepted.amount).toBe('15000')
    } finally {
      await service.close()
    }
  })
})
