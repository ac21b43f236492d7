import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { type Call, caller } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { advance, expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import { answerLink, ask, mailedLink, secondFactorEvents } from '../../support/scenes/second-factor.js'
import { INVITED, lastMail, newSender, send, walletOf } from '../../support/scenes/transfers.js'
import { newPayer, newSeller, newSession } from '../../support/scenes/world.js'

/** A user who holds ten, signed in, with a phone that answers so; and whom they send to. */
async function signedIn(start: Start, mode?: string) {
  const world = await newSender(start)
  const { call, seller, payer } = world
  const payee = await newPayer(call, seller)
  const session = await newSession(call, payer.email)
  if (mode) await call('POST', `/_sandbox/devices/${payer.id}`, { body: { mode } })
  const order = { address: payee.hostname, amount: 2.5, memo: 'For lunch' }
  return { ...world, payee, session, order }
}

const requestsOf = async (call: Call, token: string) => (await secondFactorEvents(call, token)).map(([type]) => type)

/** Resolves once the user was asked, however they are reached. */
const asked = (call: Call, token: string, times = 1) =>
  expect.poll(async () => (await requestsOf(call, token)).filter((type) => type === 'requested')).toHaveLength(times)

contract("a session's transfer", (start) => {
  it('happens after the approval, exactly as the user saw it', async () => {
    const { call, payer, payee, session, order } = await signedIn(start, 'approve')
    const sent = await send(call, { session }, order)
    expect([sent.status, sent.body.status]).toEqual([201, 'completed'])
    expect(await walletOf(call, payee)).toBe(2.5)
    const { messages } = (await call('GET', `/_sandbox/outbox?kind=push`)).body
    expect(messages).toHaveLength(1)
    expect(messages[0].text).toBe(`Payee: ${payee.hostname}\nAmount: 2.50 USD\nMemo: For lunch`)
    expect(messages[0].data.action).toBe('transfer')
    expect(await requestsOf(call, payer.token)).toEqual(['requested', 'approved'])
    await expectSoundLedger(call)
  })

  it('to an email without a user becomes an invitation after the approval', async () => {
    const { call, session } = await signedIn(start, 'approve')
    const sent = await send(call, { session }, { address: 'ADA@example.test', amount: 2.5 })
    expect([sent.status, sent.body.status, sent.body.memo]).toEqual([201, 'invited', null])
    expect((await lastMail(call)).text).not.toContain('message')
    const [{ text }] = (await call('GET', `/_sandbox/outbox?kind=push`)).body.messages
    expect(text).toBe(`Payee: ${INVITED}\nAmount: 2.50 USD`)
  })

  it('is 403 if the user rejects it, and moves nothing', async () => {
    const { call, payer, payee, session, order } = await signedIn(start, 'reject')
    expectProblem(await send(call, { session }, order), 403, 'rejected')
    expect([await walletOf(call, payer), await walletOf(call, payee)]).toEqual([10, 0])
  })

  it('is 408 if the user does not answer within two minutes, and moves nothing', async () => {
    const { call, payer, payee, session, order } = await signedIn(start, 'ignore')
    const answer = send(call, { session }, order)
    await asked(call, payer.token)
    await advance(call, '2m')
    expectProblem(await answer, 408, 'approval_timeout')
    expect([await walletOf(call, payer), await walletOf(call, payee)]).toEqual([10, 0])
    expect(await requestsOf(call, payer.token)).toEqual(['requested', 'expired'])
  })

  it('waits for the mailed link if the user has no device', async () => {
    const { call, payer, payee, session, order } = await signedIn(start)
    const answer = send(call, { session }, order)
    await asked(call, payer.token)
    expect(await walletOf(call, payee)).toBe(0)
    await answerLink(call, await mailedLink(call, payer.email))
    expect((await answer).status).toBe(201)
    expect(await walletOf(call, payee)).toBe(2.5)
  })

  it('is refused before anybody is asked if it is impossible', async () => {
    const { call, payer, session, order } = await signedIn(start, 'ignore')
    const refuse = (changes: object) => send(call, { session }, { ...order, ...changes })
    expectProblem(await refuse({ amount: 10.001 }), 402, 'insufficient_funds')
    expectProblem(await refuse({ amount: 0 }), 400, 'amount_invalid')
    expectProblem(await refuse({ address: 'nobody.twin.localhost' }), 404, 'not_found')
    expectProblem(await refuse({ address: payer.email }), 422, 'same_twin')
    expectProblem(await refuse({ dq: 'none' }), 400, 'dq_unknown')
    expect(await requestsOf(call, payer.token)).toEqual([])
  })

  it('is 402 if the funds are gone at the time of the approval, and moves nothing', async () => {
    const { call, payer, payee, session, order } = await signedIn(start)
    const answer = send(call, { session }, order)
    await asked(call, payer.token)
    await send(call, payer, { address: payee.hostname, amount: 8 })
    await answerLink(call, await mailedLink(call, payer.email))
    expectProblem(await answer, 402, 'insufficient_funds')
    expect([await walletOf(call, payer), await walletOf(call, payee)]).toEqual([2, 8])
  })

  it('is 429 while too many wait', async () => {
    const { call, payer, session, order } = await signedIn(start, 'ignore')
    for (let n = 0; n < 5; n++) await ask(call, payer)
    expectProblem(await send(call, { session }, order), 429, 'too_many_pending')
    await advance(call, '2m')
    expectProblem(await send(call, { session }, order), 429, 'too_many_mails')
  })
})

contract('a transfer with an Idempotency-Key', (start) => {
  const keyed = (call: Call, who: object, body: object) =>
    call('POST', '/v4/transfer', { ...who, body, headers: { 'idempotency-key': 'k' } })

  it('happens once, and a different body is 422', async () => {
    const { call, payer, payee, order } = await signedIn(start)
    const [first, second] = [await keyed(call, payer, order), await keyed(call, payer, order)]
    expect([first.status, second.text]).toEqual([201, first.text])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expectProblem(await keyed(call, payer, { ...order, amount: 1 }), 422, 'idempotency_mismatch')
    expect(await walletOf(call, payee)).toBe(2.5)
  })

  it("of a session's asks its user once; while it waits, the same is 409", async () => {
    const { call, payer, payee, session, order } = await signedIn(start)
    const first = keyed(call, { session }, order)
    await asked(call, payer.token)
    expectProblem(await keyed(call, { session }, order), 409, 'idempotency_in_progress')
    await answerLink(call, await mailedLink(call, payer.email))
    const { status, text } = await first
    expect(status).toBe(201)
    expect((await keyed(call, { session }, order)).text).toBe(text)
    expect(await requestsOf(call, payer.token)).toEqual(['requested', 'approved'])
    expect(await walletOf(call, payee)).toBe(2.5)
  })

  it('can be requested again after a timeout', async () => {
    const { call, payer, session, order } = await signedIn(start)
    const first = keyed(call, { session }, order)
    await asked(call, payer.token)
    await advance(call, '2m')
    expectProblem(await first, 408, 'approval_timeout')
    await advance(call, '2s')
    const second = keyed(call, { session }, order)
    await asked(call, payer.token, 2)
    await answerLink(call, await mailedLink(call, payer.email))
    expect((await second).status).toBe(201)
  })
})

describe('a transfer with an Idempotency-Key', () => {
  it('is 409 if its answer was encrypted with a different key, and does not happen again', async () => {
    const storage = memoryStorage()
    const [one, other] = ['11', '22'].map((byte) => {
      const service = createService({ storage, sandbox: true, encryptionKey: byte.repeat(32) })
      return caller({ url: service.baseUrl, fetch: service.fetch })
    }) as [Call, Call]
    const seller = await newSeller(one)
    const payer = await newPayer(one, seller, { balance: 5 })
    const body = { address: (await newPayer(one, seller)).hostname, amount: 1 }
    const order = { token: payer.token, body, headers: { 'idempotency-key': 'k' } }
    expect((await one('POST', '/v4/transfer', order)).status).toBe(201)
    expectProblem(await other('POST', '/v4/transfer', order), 409, 'idempotency_unreadable')
    expect(await walletOf(one, payer)).toBe(4)
  })
})
