import type { PrivateKeyAccount } from 'viem/accounts'
import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { answerApproval, newAgentShop } from '../../support/scenes/approvals.js'
import { changeItem } from '../../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger, fund } from '../../support/scenes/market.js'
import { challengeIn, mppReceiptIn, payChallenge } from '../../support/scenes/mpp.js'
import { newPaidShop, offerIn, payHeader, payHeaderV1, receiptIn } from '../../support/scenes/paid-calls.js'
import { newPaidWall, payWall } from '../../support/scenes/paid-wall.js'
import { newDelegate, newPersona } from '../../support/scenes/personas.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { balanceOf, newCommodity, newPayer } from '../../support/scenes/world.js'
import { fundAddress, heldBy, newAccount, newWallet, type Signing, USDC_DQ } from '../../support/scenes/x402.js'

const upstream = useUpstream()

const named = () => ({ 'payment-identifier': { info: { required: false, id: 'pay_7d5d747be160e280' }, schema: {} } })

const sign = async (call: Call, account: PrivateKeyAccount, order: object, signing: Signing = {}) =>
  payHeader(account, offerIn(await payWall(call, order)), signing)

contract('callPaywall, paid in the request', (start) => {
  it('POST /v4/paywall offers the call in each dialect, and delivers it once it is paid', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      made: { order, shop },
    } = await startWith(start, newPaidWall, { serviceUrl: `${upstream.url}/ok` })
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

  it('takes a payment alone, and answers with it', async () => {
    const {
      call,
      made: { order, shop },
    } = await startWith(start, newPaidWall)
    const account = await newWallet(call, 1)
    const header = await sign(call, account, order, { extensions: named() })
    const paid = await payWall(call, order, header)
    expect(paid.body).toEqual({
      approved: true,
      payment: expect.objectContaining({ amount: 0.01, kind: 'paywall', status: 'posted', payee_hostname: shop }),
    })
    expect([receiptIn(paid).success, paid.headers.get('x-payment-id')]).toEqual([true, String(paid.body.payment.id)])
    const again = await payWall(call, order, header)
    expect([again.text, receiptIn(again)]).toEqual([paid.text, receiptIn(paid)])
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it('sends the parameters to the service, relays status, type and bytes, and events as they come', async () => {
    const {
      call,
      made: { order },
    } = await startWith(start, newPaidWall)
    const account = await newWallet(call, 1)
    const buy = async (fields: object) => {
      const sent = { ...order, ...fields }
      return payWall(call, sent, await sign(call, account, sent))
    }
    const params = { serviceUrl: `${upstream.url}/ok`, serviceMethod: 'POST', additionalParams: { town: 'Bath' } }
    expect((await buy(params)).status).toBe(200)
    const { method, body, headers } = upstream.requests.at(-1) ?? {}
    expect([method, body]).toEqual(['POST', '{"town":"Bath"}'])
    expect(Object.keys(headers ?? {}).filter((name) => /pay|authorization/.test(name))).toEqual([])
    const image = await buy({ serviceUrl: `${upstream.url}/bytes` })
    expect([image.headers.get('content-type'), receiptIn(image).success]).toEqual(['image/png', true])
    const events = await buy({ serviceUrl: `${upstream.url}/pieces` })
    expect([events.headers.get('content-type'), events.text]).toEqual(['text/event-stream', 'one two three'])
    const missing = await buy({ serviceUrl: `${upstream.url}/status/404/` })
    expect([missing.status, missing.headers.get('x-payment-status')]).toEqual([404, 'posted'])
    expect(await heldBy(call, account.address)).toBe(0.96)
  })

  it('sells in the digital quantity that the order names, by its own token', async () => {
    const {
      call,
      made: { order, seller },
    } = await startWith(start, newPaidWall)
    const payer = await newPayer(call, seller, { balance: 10 })
    const account = newAccount()
    await call('POST', '/_sandbox/wallets', { body: { twin: payer.hostname, address: account.address } })
    const { dq } = (await call('GET', '/v4/commodities', { token: seller.token })).body.commodities[0]
    const sold = { ...order, dq, amount: 0.5 }
    const paid = await payWall(call, sold, await sign(call, account, sold))
    expect(paid.body.payment).toMatchObject({ amount: 0.5, dq, hostname: payer.hostname })
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(9.5)
    const { payments } = (await call('GET', '/v4/payments', { token: payer.token })).body
    expect(payments.map(({ id }: { id: number }) => id)).toContain(paid.body.payment.id)
  })

  it('finds the payee of an endpoint that the catalog sells', async () => {
    const {
      call,
      made: { item, seller },
    } = await startWith(start, newPaidShop, { external_endpoint: `${upstream.url}/ok` })
    const account = await newWallet(call, 1)
    const order = { amount: 0.02, serviceUrl: `${upstream.url}/ok` }
    const header = await sign(call, account, order)
    await changeItem(call, seller, item, { active: false })
    expectProblem(await payWall(call, { ...order, destination: item.hostname }, header), 409, 'item_inactive')
    expectProblem(await payWall(call, order, header), 400, 'destination_unknown')
    await changeItem(call, seller, item, { active: true })
    expect((await payWall(call, order, header)).status).toBe(200)
    expect(await heldBy(call, account.address)).toBe(0.98)
  })

  it('refuses as ever who sends no credentials, if the call cannot be offered', async () => {
    const {
      call,
      state,
      made: { order },
    } = await startWith(start, newPaidWall)
    const before = JSON.stringify((await state()).rows)
    const impossible: [fields: object, status: number, code: string][] = [
      [{ destination: 'nobody.test' }, 400, 'destination_unknown'],
      [{ destination: undefined }, 400, 'destination_unknown'],
      [{ dq: `0x${'0'.repeat(64)}` }, 400, 'dq_unknown'],
      [{ amount: 0 }, 400, 'amount_invalid'],
      [{ serviceUrl: 'ftp://example.test/' }, 422, 'upstream_refused'],
    ]
    for (const [fields, status, code] of impossible) {
      const unpaid = await payWall(call, { ...order, ...fields })
      expectProblem(unpaid, 401, 'authorization_missing')
      expect(unpaid.body.error).toBe(
        'Credentials are missing. Send a Bearer access token, or a session, or `public_secret`.',
      )
      expect(unpaid.headers.get('www-authenticate')).toBe('Bearer realm="farthing"')
      expectProblem(await payWall(call, { ...order, ...fields }, { 'x-payment': 'e30=' }), status, code as never)
    }
    for (const right of [{ persona_delegate: 'x' }, { approval_id: 'x' }])
      expectProblem(await payWall(call, { ...order, ...right }), 401, 'authorization_missing')
    expect(JSON.stringify((await state()).rows)).toBe(before)
  })

  it('knows no payment in the request in a strict mode', async () => {
    const { call } = await start({ evidence: 'observed' })
    const asked = [{ 'x-payment': 'e30=' }, { authorization: 'Payment e30' }, {}]
    for (const headers of asked) expect((await payWall(call, { amount: 0.01 }, headers as never)).status).toBe(401)
  })

  it('lets credentials pay as ever, and leaves a payment beside them alone', async () => {
    const {
      call,
      made: { order, seller },
    } = await startWith(start, newPaidWall)
    const account = await newWallet(call, 1)
    const header = await sign(call, account, order)
    const poor = await newPayer(call, seller)
    const broke = await call('POST', '/v4/paywall', { token: poor.token, headers: header, body: order })
    expectProblem(broke, 402, 'insufficient_funds')
    expect([broke.headers.get('payment-required'), broke.body.accepts]).toEqual([null, undefined])
    expectProblem(await call('POST', '/v4/paywall', { token: 'x', headers: header, body: order }), 401, 'token_invalid')
    const basic = { ...header, authorization: 'Basic eDp5' }
    expectProblem(await payWall(call, order, basic), 401, 'bearer_required')
    const hidden = { ...order, public_secret: 'x' }
    expectProblem(await payWall(call, hidden, header), 401, 'public_secret_unknown')
    expect(await heldBy(call, account.address)).toBe(1)
  })

  it('refuses a payment in the words of its dialect, and offers the call again', async () => {
    const {
      call,
      made: { order },
    } = await startWith(start, newPaidWall, { serviceUrl: `${upstream.url}/ok` })
    const unpaid = await payWall(call, order)
    const stranger = newAccount()
    const refused = await payWall(call, order, await payHeader(stranger, offerIn(unpaid)))
    expectProblem(refused, 402, 'payment_required')
    expect(offerIn(refused)).toMatchObject({ error: 'invalid_exact_evm_insufficient_balance', accepts: [{}] })
    expect(receiptIn(refused)).toMatchObject({ success: false, payer: stranger.address })
    // An unknown address that signs gets a twin, so that it can be funded.
    expect(await heldBy(call, stranger.address)).toBe(0)
    const v1 = await payWall(call, order, await payHeaderV1(stranger, unpaid))
    expect(v1.body).toMatchObject({ reason: 'insufficient_funds', accepts: [{}] })
    const mpp = await payWall(call, order, await payChallenge(stranger, challengeIn(unpaid)))
    expect([mpp.status, mpp.body.title]).toEqual([402, 'Payment Insufficient'])
    expect(challengeIn(mpp).method).toBe('evm')
    expect((await payWall(call, order, { authorization: 'Payment nonsense' })).status).toBe(402)
    expectProblem(await payWall(call, order, { 'x-payment': 'nonsense' }), 400, 'header_malformed')
    const short = { 'payment-identifier': { info: { id: 'short' } } }
    expectProblem(
      await payWall(call, order, await sign(call, stranger, order, { extensions: short })),
      400,
      'field_invalid',
    )
    expect(upstream.requests).toEqual([])
  })

  it('gives the payment back if the service fails, and the same signature pays later', async () => {
    const {
      call,
      made: { order },
    } = await startWith(start, newPaidWall)
    const account = await newWallet(call, 1)
    const failing = { ...order, serviceUrl: `${upstream.url}/status/503/` }
    const header = await sign(call, account, failing)
    const failed = await payWall(call, failing, header)
    expect([failed.status, failed.headers.get('x-payment-status'), receiptIn(failed)]).toEqual([
      503,
      'reversed',
      undefined,
    ])
    const dead = { ...order, serviceUrl: 'http://127.0.0.1:1/' }
    expectProblem(await payWall(call, dead, await sign(call, account, dead)), 502, 'upstream_failed')
    expect(await heldBy(call, account.address)).toBe(1)
    const well = { ...order, serviceUrl: `${upstream.url}/ok` }
    expect((await payWall(call, well, header)).status).toBe(200)
    expect(await heldBy(call, account.address)).toBe(0.99)
    await expectSoundLedger(call)
  })

  it('delivers what its payer named again, by extension or Idempotency-Key, and charges once', async () => {
    const {
      call,
      made: { order },
    } = await startWith(start, newPaidWall, { serviceUrl: `${upstream.url}/bytes` })
    const account = await newWallet(call, 1)
    const key = { 'idempotency-key': '5f0f7b6e-6d6d-4a8e-9c29-0d6c8a1f7b11' }
    const ways = [
      async () => sign(call, account, order, { extensions: named() }),
      async () => ({ ...key, ...(await sign(call, account, order)) }),
      async () => ({ ...key, ...(await payChallenge(account, challengeIn(await payWall(call, order)))) }),
    ]
    const answers = []
    for (const way of ways) for (let n = 0; n < 2; n++) answers.push(await payWall(call, order, await way()))
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(new Set(answers.map(({ headers }) => headers.get('x-payment-id'))).size).toBe(2)
    expect(upstream.requests).toHaveLength(2)
    expect(await heldBy(call, account.address)).toBe(0.98)
    const other = { ...order, serviceUrl: `${upstream.url}/ok` }
    const mismatch = await payWall(call, other, await sign(call, account, other, { extensions: named() }))
    expectProblem(mismatch, 409, 'payment_identifier_mismatch')
    // Without a payment, the key gets nobody the answer.
    expect((await payWall(call, order, key)).status).toBe(402)
  })

  it('answers 409 while the call runs', async () => {
    const {
      call,
      made: { order },
    } = await startWith(start, newPaidWall, { serviceUrl: `${upstream.url}/slow` })
    const account = await newWallet(call, 1)
    const header = await sign(call, account, order)
    const answers = await Promise.all([payWall(call, order, header), payWall(call, order, header)])
    const [busy] = answers.filter(({ status }) => status !== 200)
    if (!busy) throw new Error('both delivered')
    expectProblem(busy, 409, 'idempotency_in_progress')
    expect(offerIn(await payWall(call, order, header)).error).toBe('invalid_exact_evm_nonce_already_used')
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it("refuses to pay the payee's own twin, loops, and too many calls", async () => {
    const {
      call,
      made: { order, shop },
    } = await startWith(start, newPaidWall, { serviceUrl: `${upstream.url}/ok` })
    const own = newAccount()
    await call('POST', '/_sandbox/wallets', { body: { twin: shop, address: own.address } })
    await fundAddress(call, own.address, 1)
    expectProblem(await payWall(call, order, await sign(call, own, order)), 422, 'same_twin')
    const loop = { ...(await sign(call, own, order)), via: '1.1 farthing, 1.1 farthing, 1.1 farthing' }
    expectProblem(await payWall(call, order, loop), 422, 'too_many_hops')
    expect(upstream.requests).toEqual([])
  })

  it("spends a delegate's authority, which a failed call does not use up", async () => {
    const {
      call,
      made: { order, seller },
    } = await startWith(start, newPaidWall)
    const owner = await newPayer(call, seller)
    const persona = await newPersona(call, owner)
    const spend = { party: { client_id: seller.clientId }, dq: USDC_DQ, limit: 0.015 }
    const delegate = await newDelegate(call, owner, { persona: persona.hash, hostname: owner.hostname, spend })
    await fund(call, persona.hostname, 1, USDC_DQ)
    const account = newAccount()
    await call('POST', '/_sandbox/wallets', { body: { delegate: delegate.hash, address: account.address } })
    const failing = { ...order, serviceUrl: `${upstream.url}/status/500/` }
    expect((await payWall(call, failing, await sign(call, account, failing))).status).toBe(500)
    expect((await payWall(call, order, await sign(call, account, order))).status).toBe(200)
    expect(offerIn(await payWall(call, order, await sign(call, account, order))).error).toBe('delegate_refused')
  })

  it("needs an approval above the threshold of an app's user, and spends it for the same call", async () => {
    const { call, payer, wallet, seller } = await newAgentShop(start)
    const { hostname: destination, dq } = await newCommodity(call, seller)
    const order = { amount: 0.25, dq, destination, serviceUrl: `${upstream.url}/ok` }
    const [{ id: connection }] = (await call('GET', '/v4/connections', payer)).body.connections
    const account = newAccount()
    await call('POST', '/_sandbox/wallets', { body: { connection, address: account.address } })
    const buy = async (sent: object) => payWall(call, sent, await sign(call, account, sent))
    const refused = await buy(order)
    expectProblem(refused, 402, 'payment_required')
    expect(refused.body).toMatchObject({ reason: 'approval_required', approval_id: expect.any(String) })
    expect((await answerApproval(call, payer, refused.body.approval_id)).body.status).toBe('approved')
    expect(offerIn(await buy({ ...order, additionalParams: { a: 1 } })).error).toBe('approval_required')
    expect((await buy(order)).status).toBe(200)
    expect(offerIn(await buy(order)).error).toBe('approval_required')
    expect(await balanceOf(call, payer.token, wallet)).toBe(9.75)
  })
})
