import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import { setPhone } from '../../support/scenes/paywall.js'
import { newPersona } from '../../support/scenes/personas.js'
import { registerDevice } from '../../support/scenes/second-factor.js'
import { defaultDq, newPayer, newSeller, newSession } from '../../support/scenes/world.js'

/** A user's persona, a session of theirs whose phone answers so, and what they would let a seller spend. */
async function asking(call: Call, phone: string) {
  const seller = await newSeller(call)
  const holder = await newPayer(call, seller)
  const payer = await newPayer(call, seller)
  const persona = await newPersona(call, payer)
  const session = await newSession(call, payer.email)
  await registerDevice(call, { session })
  await setPhone(call, payer, phone)
  const spend = { party: { client_id: seller.clientId }, dq: await defaultDq(call), limit: 2.5, period: 'day' }
  const give = (headers: Record<string, string> = {}) =>
    call('POST', `/v4/persona/${persona.hash}/delegate`, {
      session,
      headers,
      body: { hostname: holder.hostname, spend },
    })
  const requests = async () =>
    (await call('GET', '/v4/events?type=second_factor.requested', { token: payer.token })).body.events
  return { give, payer, persona, requests, seller, holder }
}

const asked = async (requests: () => Promise<unknown[]>) => expect.poll(async () => (await requests()).length).toBe(1)

contract('createDelegate by a session', (start) => {
  it('lets a party spend once the user has approved that on their phone', async () => {
    const { call, state } = await start()
    const { give, payer, seller, persona, holder } = await asking(call, 'approve')
    expect((await give()).status).toBe(201)
    expect((await state()).rows.authentication_requests).toMatchObject([
      { action: 'delegate', spent_at: expect.any(Number) },
    ])
    const push = (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(payer.email)}&kind=push`)).body
      .messages[0]
    for (const text of [seller.clientId, '2.50 USD', 'a day', persona.name, holder.hostname])
      expect(push.text).toContain(text)
  })

  it('creates nothing if the user rejects or does not answer in time', async () => {
    const { call } = await start()
    await stopClock(call)
    const { give, payer, persona, requests } = await asking(call, 'ignore')
    const waiting = give()
    await asked(requests)
    await advance(call, '2m')
    expectProblem(await waiting, 408, 'approval_timeout')
    await setPhone(call, payer, 'reject')
    await advance(call, '2s')
    expectProblem(await give(), 403, 'rejected')
    const { delegates } = (await call('GET', `/v4/persona/${persona.hash}/delegates`, { token: payer.token })).body
    expect(delegates).toEqual([])
  })

  it('is refused while the same or too many requests wait', async () => {
    const { call } = await start()
    await stopClock(call)
    const { give, payer, requests } = await asking(call, 'ignore')
    const keyed = { 'idempotency-key': 'once' }
    const waiting = give(keyed)
    await asked(requests)
    expectProblem(await give(keyed), 409, 'idempotency_in_progress')
    for (let n = 0; n < 4; n++)
      await call('POST', '/v4/authentication-requests', { token: payer.token, body: { action: 'other', detail: {} } })
    expectProblem(await give(), 429, 'too_many_pending')
    await advance(call, '3m')
    expectProblem(await give(), 429, 'too_many_mails')
    await advance(call, '2m')
    expectProblem(await waiting, 408, 'approval_timeout')
  })
})
