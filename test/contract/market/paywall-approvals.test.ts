import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import {
  askedAuthorization,
  newMarket,
  newPage,
  ORIGIN,
  paywall,
  setPhone,
  settledBalances,
} from '../../support/scenes/paywall.js'
import { registerDevice } from '../../support/scenes/second-factor.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newSession } from '../../support/scenes/world.js'

const upstream = useUpstream()

contract('callPaywall by a session', (start) => {
  it('a page needs only an amount: its user approves on their phone, and its seller is paid', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const page = await newPage(call, market, 'approve')
    const paid = await paywall(call, page, { amount: 0.5 })
    expect([paid.status, paid.body.approved, paid.body.payment.payee_hostname]).toEqual([200, true, market.shop])
    expect(await settledBalances(call, market)).toEqual([9.5, 0.5])
    const [asked] = (await call('GET', '/v4/paywall/authorizations', { token: market.payer.token })).body.authorizations
    expect(asked).toMatchObject({ status: 'approved', merchant_url: ORIGIN, merchant_name: market.shop })
    expect(asked.metadata).toMatchObject({ payee: market.shop, amount: expect.stringMatching(/^0\.50 /) })
  })

  it('is refused if the user rejects, and moves nothing', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const page = await newPage(call, market, 'reject')
    expectProblem(await paywall(call, page, { amount: 0.5 }), 403, 'rejected')
    expect(await settledBalances(call, market)).toEqual([10, 0])
  })

  it('answers 408 if the user does not answer within thirty seconds', async () => {
    const { call } = await start()
    await stopClock(call)
    const market = await newMarket(call)
    const page = await newPage(call, market, 'ignore')
    const answer = paywall(call, page, { amount: 0.5 })
    await askedAuthorization(call, market.payer)
    await advance(call, '30s')
    expectProblem(await answer, 408, 'approval_timeout')
    expect(await settledBalances(call, market)).toEqual([10, 0])
    const { type } = (await call('GET', '/v4/events?limit=1', { token: market.payer.token })).body.events[0]
    expect(type).toBe('second_factor.expired')
  })

  it('does not ask again when a browser repeats the request after a 408', async () => {
    const { call } = await start()
    await stopClock(call)
    const market = await newMarket(call)
    const page = await newPage(call, market, 'ignore')
    const asked = async () =>
      (await call('GET', '/v4/paywall/authorizations', { token: market.payer.token })).body.authorizations.length
    const answer = paywall(call, page, { amount: 0.5 })
    await askedAuthorization(call, market.payer)
    await advance(call, '30s')
    expectProblem(await answer, 408, 'approval_timeout')
    expectProblem(await paywall(call, page, { amount: 0.5 }), 408, 'approval_timeout')
    expect(await asked()).toBe(1)
    await setPhone(call, market.payer, 'approve')
    expect((await paywall(call, page, { amount: 0.5 })).status).toBe(200)
    expect(await asked()).toBe(2)
  })

  it('is answered by existing clients through PUT /v3/paywall/authorizations too', { tags: 'everywhere' }, async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const page = await newPage(call, market)
    const answer = paywall(call, page, { amount: 0.5, serviceUrl: `${upstream.url}/ok` })
    const { id, payment_type_hash } = await askedAuthorization(call, market.payer)
    expect(payment_type_hash).toMatch(/^41/)
    const body = { authorizationId: id, approved: true }
    await call('PUT', '/v3/paywall/authorizations', { token: market.payer.token, body })
    expect((await answer).body).toEqual({ story: 'The whole story.' })
    expect(await settledBalances(call, market)).toEqual([9.5, 0.5])
  })

  it("the user's own session needs an approval too, and names the payee", async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const session = await newSession(call, market.payer.email)
    await registerDevice(call, { session })
    await setPhone(call, market.payer, 'approve')
    expectProblem(await paywall(call, { session }, { amount: 0.5 }), 400, 'destination_unknown')
    expect((await paywall(call, { session }, { amount: 0.5, destination: market.shop })).status).toBe(200)
    expect(await settledBalances(call, market)).toEqual([9.5, 0.5])
  })

  it('does not ask about an impossible payment', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const page = await newPage(call, market, 'approve')
    expectProblem(await paywall(call, page, { amount: 10.5 }), 402, 'insufficient_funds')
    const { authorizations } = (await call('GET', '/v4/paywall/authorizations', { token: market.payer.token })).body
    expect(authorizations).toEqual([])
  })

  it('asks for at most five unapproved payments in 15 minutes', async () => {
    const { call } = await start()
    const page = await newPage(call, await newMarket(call), 'reject')
    for (let n = 0; n < 5; n++) expectProblem(await paywall(call, page, { amount: 0.5 }), 403, 'rejected')
    expectProblem(await paywall(call, page, { amount: 0.5 }), 429, 'too_many_mails')
  })

  it('asks for at most five payments at a time', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const page = await newPage(call, market, 'ignore')
    const { token } = market.payer
    for (let n = 0; n < 5; n++)
      await call('POST', '/v4/authentication-requests', { token, body: { action: 'other', detail: {} } })
    expectProblem(await paywall(call, page, { amount: 0.5 }), 429, 'too_many_pending')
  })

  it('does not work for a page of another origin, nor with the delegate of someone else', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const { session } = await newPage(call, market, 'reject')
    const elsewhere = { session: session as string, headers: { origin: 'https://elsewhere.example.test' } }
    expectProblem(await paywall(call, elsewhere, { amount: 0.5 }), 401, 'page_refused')
    const persona_delegate = `41${'0'.repeat(64)}`
    const own = { session: session as string, headers: { origin: ORIGIN } }
    expectProblem(await paywall(call, own, { amount: 0.5, persona_delegate }), 403, 'rejected')
  })
})
