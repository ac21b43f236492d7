import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { advance, expectProblem, setClock, stopClock } from '../../support/scenes/market.js'
import { answerLink, ask, mailedLink, poll, secondFactorEvents } from '../../support/scenes/second-factor.js'
import { newSender, send, walletOf } from '../../support/scenes/transfers.js'
import { newCommodity, newPayer, newSeller, newSession } from '../../support/scenes/world.js'

/** Resolves once the user was asked so many times. */
const asked = (call: Call, token: string, times = 1) =>
  expect
    .poll(async () => (await secondFactorEvents(call, token)).filter(([type]) => type === 'requested').length)
    .toBe(times)

/** A user who holds ten, and a transfer of theirs that waits for their answer. */
async function waiting(start: Start) {
  const world = await newSender(start)
  const { call, seller, payer } = world
  const payee = await newPayer(call, seller)
  const session = await newSession(call, payer.email)
  const order = { address: payee.hostname, amount: 2.5, memo: 'For lunch' }
  const answer = send(call, { session }, order)
  await asked(call, payer.token)
  return { ...world, session, order, answer }
}

contract('a call that waits for a second factor', (start) => {
  it('ends with its session: 401, and its link answers nothing', async () => {
    const { call, payer, session, answer } = await waiting(start)
    await call('DELETE', '/v4/session', { session })
    expectProblem(await answer, 401, 'sign_in_required')
    expectProblem(await answerLink(call, await mailedLink(call, payer.email)), 410, 'link_expired')
    expect(await secondFactorEvents(call, payer.token)).toEqual([
      ['requested', 'mail'],
      ['rejected', 'service'],
    ])
    expect(await walletOf(call, payer)).toBe(10)
  })

  it('of a page ends with the session of the page', async () => {
    const { call, seller, payer } = await newSender(start)
    const { hash, dq, hostname } = await newCommodity(call, seller)
    const own = await newSession(call, payer.email)
    const page = { hash, origin: 'https://shop.example.test' }
    const { session_id } = (await call('POST', '/v4/session/page', { session: own, body: page })).body
    const order = { paymentTypeHash: dq, amount: 1, destinationUrl: hostname }
    const answer = call('POST', '/v3/paywall', { session: session_id, body: order })
    await asked(call, payer.token)
    await call('DELETE', '/v4/session', { session: own })
    expectProblem(await answer, 401, 'sign_in_required')
    expect((await secondFactorEvents(call, payer.token)).at(-1)).toEqual(['rejected', 'service'])
    expect(await walletOf(call, payer)).toBe(10)
  })

  it('asks at once for something else than what has just timed out, and in another session', async () => {
    const { call, payer, session, order, answer } = await waiting(start)
    await advance(call, '2m')
    expectProblem(await answer, 408, 'approval_timeout')
    const other = send(call, { session }, { ...order, memo: 'For dinner' })
    await asked(call, payer.token, 2)
    await advance(call, '2m')
    expectProblem(await other, 408, 'approval_timeout')
    const elsewhere = send(call, { session: await newSession(call, payer.email) }, { ...order, memo: 'For dinner' })
    await asked(call, payer.token, 3)
    await answerLink(call, await mailedLink(call, payer.email))
    expect((await elsewhere).status).toBe(201)
  })

  it('is taken for a repetition of a browser for less than two seconds', async () => {
    const { call, payer, session, order, answer } = await waiting(start)
    await advance(call, '2m')
    expectProblem(await answer, 408, 'approval_timeout')
    await advance(call, '1999ms')
    expectProblem(await send(call, { session }, order), 408, 'approval_timeout')
    await asked(call, payer.token, 1)
    // Only once: the next call is the user's own.
    const third = send(call, { session }, order)
    await asked(call, payer.token, 2)
    await answerLink(call, await mailedLink(call, payer.email), 'reject')
    expectProblem(await third, 403, 'rejected')
  })
})

contract('a request for a second factor, while the clock is set back', (start) => {
  it('is expired if it was created later than the clock says', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    await setClock(call, at + 10_000)
    const { id } = (await ask(call, payer)).body
    await setClock(call, at - 50_000)
    expect((await poll(call, payer, id)).body.status).toBe('pending')
    await setClock(call, at - 50_001)
    expect((await poll(call, payer, id)).body.status).toBe('expired')
  })

  it('may be polled at once if its last poll was later than the clock says', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    const { id } = (await ask(call, payer)).body
    await setClock(call, at + 90_000)
    expect((await poll(call, payer, id)).status).toBe(200)
    await setClock(call, at + 29_999)
    expect((await poll(call, payer, id)).status).toBe(200)
  })
})
