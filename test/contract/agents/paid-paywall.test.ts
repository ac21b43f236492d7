import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { expectSoundLedger } from '../../support/scenes/market.js'
import { challengeIn, mppReceiptIn, payChallenge } from '../../support/scenes/mpp.js'
import { offerIn, payHeader, payHeaderV1, receiptIn } from '../../support/scenes/paid-calls.js'
import { newPaidWall, payWall } from '../../support/scenes/paid-wall.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { heldBy, newWallet } from '../../support/scenes/x402.js'

const upstream = useUpstream()

contract('callPaywall without credentials', (start) => {
  it('POST /v4/paywall offers the call in each dialect, and delivers it once it is paid', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const { order, shop } = await newPaidWall(call, { serviceUrl: `${upstream.url}/ok` })
    const account = await newWallet(call, 1)
    const unpaid = await payWall(call, order)
    expect(unpaid.headers.get('cache-control')).toContain('no-store')
    const offer = offerIn(unpaid)
    expect(offer).toMatchObject({
      x402Version: 2,
      resource: { url: expect.stringContaining('/v4/paywall'), description: `Pay 0.01 USDC to ${shop}` },
      accepts: [{ scheme: 'exact', network: 'eip155:84532', amount: '10000', extra: { name: 'USDC', version: '2' } }],
    })
    expect(unpaid.body).toMatchObject({
      ...{ code: 'payment_required', x402Version: 1 },
      accepts: [{ network: 'base-sepolia', maxAmountRequired: '10000' }],
    })
    const paid = await payWall(call, order, await payHeader(account, offer))
    expect([paid.status, paid.text]).toEqual([200, '{"story":"The whole story."}'])
    expect(paid.headers.get('cache-control')).toBe('private')
    expect(paid.headers.get('x-payment-status')).toBe('posted')
    expect(receiptIn(paid)).toEqual({
      ...{ success: true, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
      ...{ network: 'eip155:84532', payer: account.address, amount: '10000' },
    })
    const v1 = await payWall(call, order, await payHeaderV1(account, unpaid))
    expect(receiptIn(v1, 'x-payment-response')).toMatchObject({ success: true, payer: account.address })
    const mpp = await payWall(call, order, await payChallenge(account, challengeIn(unpaid)))
    expect(mppReceiptIn(mpp)).toMatchObject({ method: 'evm', status: 'success' })
    expect(await heldBy(call, account.address)).toBe(0.97)
    expect(upstream.requests).toHaveLength(3)
    await expectSoundLedger(call)
  })
})
