import { expect, it } from 'vitest'
import type { Answer, Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { expectProblem, stopClock } from '../../support/scenes/market.js'
import { newMarket, setPhone } from '../../support/scenes/paywall.js'
import { answerLink, mailedLink, registerDevice } from '../../support/scenes/second-factor.js'
import { lastMail } from '../../support/scenes/transfers.js'
import { defaultDq, type Payer } from '../../support/scenes/world.js'

const PATH = '/v4/paywall/authorizations'

const authorizations = async (call: Call, { token }: Payer) => (await call('GET', PATH, { token })).body.authorizations

const sessionOf = async (call: Call, { token }: Payer): Promise<string> =>
  (await call('POST', '/v3/session', { token })).body.session_id

/** Pays a shop at the paywall of existing clients. */
const payShop =
  (call: Call, { dq, shop }: { dq: string; shop: string }) =>
  (session: string, amount = 1): Promise<Answer> =>
    call('POST', '/v3/paywall', { session, body: { paymentTypeHash: dq, amount, destinationUrl: shop } })

contract('an approval that stands for later payments', (start) => {
  it('ends when the user approves a higher amount, and to revoke it then revokes nothing', async () => {
    const { call } = await start()
    await stopClock(call)
    const { payer, shop } = await newMarket(call)
    const session = await sessionOf(call, payer)
    await registerDevice(call, payer)
    await setPhone(call, payer, 'approve')
    const pay = payShop(call, { dq: await defaultDq(call), shop })
    for (const amount of [1, 2]) expect((await pay(session, amount)).status).toBe(200)
    const [higher, lower] = await authorizations(call, payer)
    expect([higher.status, lower.status]).toEqual(['approved', 'expired'])
    expect(higher.expires_at - lower.expires_at).toBeGreaterThan(29 * 86_400)
    const body = { authorizationId: lower.id }
    expectProblem(await call('DELETE', PATH, { token: payer.token, body }), 400, 'authorization_answered')
    await setPhone(call, payer, 'reject')
    expect((await pay(session, 2)).status).toBe(200)
    expect(await authorizations(call, payer)).toHaveLength(2)
  })

  it('asks by mail for a payment, with the payee and the amount, and shows how it was answered', async () => {
    const { call } = await start()
    await stopClock(call)
    const { payer, shop } = await newMarket(call)
    const pay = payShop(call, { dq: await defaultDq(call), shop })
    const words = async (answer: Promise<Answer>) => {
      const { text } = await answer
      return text
        .replace(/<style>.*?<\/style>/gs, '')
        .replace(/<(?!main)[^>]+>/g, ' ')
        .replace(/\s+/g, ' ')
    }
    for (const [verb, heading, tone, status] of [
      ['reject', 'Rejected', 'bad', 408],
      ['approve', 'Approved', 'good', 200],
    ] as const) {
      const waits = pay(await sessionOf(call, payer), status === 200 ? 2 : 1)
      await expect.poll(async () => (await authorizations(call, payer))[0]?.status).toBe('pending')
      expect((await lastMail(call, payer.email)).subject).toBe('Approve or reject: Payment')
      const link = await mailedLink(call, payer.email)
      const facts = new RegExp(`Amount ${status === 200 ? 2 : 1}\\.00 `)
      const opened = await words(call('GET', link.path))
      expect(opened).toMatch(facts)
      expect(opened).toContain('30 seconds were left when this page opened.')
      const answered = await words(answerLink(call, link, verb))
      expect(answered).toMatch(facts)
      expect(answered).toContain(`<main class="${tone}"> Payment ${heading}`)
      expect((await waits).status).toBe(status)
    }
  })
})
