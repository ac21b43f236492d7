import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { expectSoundLedger } from '../../support/scenes/market.js'
import { callItem, newPaidShop, offerIn, payHeader, payHeaderV1, receiptIn } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { heldBy, newWallet } from '../../support/scenes/x402.js'

const upstream = useUpstream()
const at = (path: string) => ({ external_endpoint: `${upstream.url}/${path}` })

contract('callCatalogItemByGet', (start) => {
  it('GET /v4/catalog/items/{id}/call offers the call, and delivers it once it is paid', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const { item } = await newPaidShop(call, at('ok'))
    const account = await newWallet(call, 1)
    const unpaid = await callItem(call, item)
    expect(unpaid.headers.get('cache-control')).toContain('no-store')
    const offer = offerIn(unpaid)
    expect(offer).toMatchObject({
      x402Version: 2,
      resource: { url: expect.stringContaining(`/v4/catalog/items/${item.id}/call`) },
      accepts: [{ scheme: 'exact', network: 'eip155:84532', amount: '10000', extra: { name: 'USDC', version: '2' } }],
    })
    expect(unpaid.body).toMatchObject({
      ...{ code: 'payment_required', x402Version: 1 },
      accepts: [{ network: 'base-sepolia', maxAmountRequired: '10000' }],
    })
    const paid = await callItem(call, item, await payHeader(account, offer))
    expect([paid.status, paid.text]).toEqual([200, '{"story":"The whole story."}'])
    expect(paid.headers.get('cache-control')).toBe('private')
    expect(paid.headers.get('content-type')).toBe('application/json')
    expect(paid.headers.get('x-payment-status')).toBe('posted')
    expect(receiptIn(paid)).toEqual({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: 'eip155:84532',
      payer: account.address,
      amount: '10000',
    })
    expect(await heldBy(call, account.address)).toBe(0.99)
    await expectSoundLedger(call)
  })

  it('is paid in version 1 too', async () => {
    const { call } = await start()
    const { item } = await newPaidShop(call, at('ok'))
    const account = await newWallet(call, 1)
    const header = await payHeaderV1(account, await callItem(call, item))
    const paid = await callItem(call, item, header)
    expect([paid.status, paid.body]).toEqual([200, { story: 'The whole story.' }])
    expect(receiptIn(paid, 'x-payment-response')).toEqual({
      ...{ success: true, transaction: expect.stringMatching(/^0x/) },
      ...{ network: 'base-sepolia', payer: account.address },
    })
    expect(await heldBy(call, account.address)).toBe(0.99)
  })
})
