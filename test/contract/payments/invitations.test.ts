import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { expectProblem, expectSoundLedger, setClock } from '../../support/scenes/market.js'
import {
  again,
  DAY,
  INVITED,
  inviteByMail,
  lastMail,
  newSender,
  send,
  transferEvents,
  typesOf,
  walletOf,
} from '../../support/scenes/transfers.js'
import { defaultDq, newPayer, newSeededUser, newSession, newTwin } from '../../support/scenes/world.js'

contract('createTransfer to an email that no user has proven', (start) => {
  it('holds the amount, mails a link, and answers 201 with the invitation', async () => {
    const { call, url, at, payer, state } = await newSender(start)
    const sent = await send(call, payer, { address: ' Ada@Example.test', amount: 2.5, memo: 'See you' })
    expect(sent.status).toBe(201)
    expect(sent.body).toEqual({
      id: expect.any(Number),
      status: 'invited',
      amount: 2.5,
      dq: await defaultDq(call),
      hostname: payer.hostname,
      address: INVITED,
      memo: 'See you',
      expires_at: (at + 30 * DAY) / 1000,
      created_at: at / 1000,
    })
    expect(await walletOf(call, payer)).toBe(7.5)
    expect((await expectSoundLedger(call)).digital_quantities[0]).toMatchObject({ balances: 7.5, held: 2.5 })
    const { subject, text, links } = await lastMail(call)
    expect(subject).toBe('sender@example.test sends you 2.50 USD')
    expect(text).toContain(`sender@example.test sends you 2.50 USD from the wallet ${payer.hostname}.`)
    expect(text).toContain('You can claim it here until 2031-05-31 12:00 UTC:')
    expect(text).toContain('\n\nTheir message:\n> See you\n\n')
    expect(links).toEqual([expect.stringMatching(/\/transfers\/[\w-]{43}$/)])
    expect(links[0]?.startsWith(url)).toBe(true)
    const { transfers } = (await state()).rows
    expect(JSON.stringify(transfers)).not.toContain((links[0] as string).split('/').at(-1))
    expect(typesOf(await transferEvents(call, payer))).toEqual(['transfer.invited'])
  })

  it("quotes an account's own name, which cannot end its quotation marks", async () => {
    const { call, seller, payer } = await newSender(start)
    const { hostname } = await newTwin(call, seller.token)
    await send(call, payer, { address: hostname, amount: 5 })
    const subjectFor = async (businessName: string | null) => {
      await call('PUT', '/v4/account', { token: seller.token, body: { businessName } })
      await inviteByMail(call, seller, { amount: 0.1 })
      return (await lastMail(call)).subject
    }
    expect(await subjectFor('The Daily Farthing')).toBe('“The Daily Farthing” sends you 0.10 USD')
    expect(await subjectFor('Ada” Pay “Bob')).toBe("“Ada' Pay 'Bob” sends you 0.10 USD")
    expect(await subjectFor('x'.repeat(200))).toBe(`“${'x'.repeat(80)}” sends you 0.10 USD`)
    expect(await subjectFor(null)).toBe(`${hostname} sends you 0.10 USD`)
  })
})

contract('claimTransfer', (start) => {
  it('POST /v4/transfers/:id/claim gives the amount to the user of that email, once', async () => {
    const { call, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const ada = await newSeededUser(call, INVITED)
    expect(await walletOf(call, ada)).toBe(0)
    const before = (await call('GET', `/v4/transfers/${id}`, { token: ada.token })).body
    expect(before.status).toBe('invited')
    expect((await call('GET', '/v4/transfers', { token: ada.token })).body.transfers).toEqual([before])
    const claimed = await call('POST', `/v4/transfers/${id}/claim`, { token: ada.token })
    expect([claimed.status, claimed.body]).toEqual([200, { ...before, status: 'completed' }])
    expect([await walletOf(call, payer), await walletOf(call, ada)]).toEqual([7.5, 2.5])
    expectProblem(await call('POST', `/v4/transfers/${id}/claim`, { token: ada.token }), 409, 'transfer_settled')
    expectProblem(await call('POST', `/v4/transfers/${id}/cancel`, { token: payer.token }), 409, 'transfer_settled')
    expect((await call('GET', '/v4/transfers', { token: ada.token })).body.transfers).toEqual([claimed.body])
    expect(typesOf(await transferEvents(call, payer))).toEqual(['transfer.invited', 'transfer.claimed'])
    const [told] = await transferEvents(call, ada)
    expect([told.type, told.actor]).toEqual(['transfer.claimed', `user:${ada.id}`])
    await expectSoundLedger(call)
  })

  it('works with a session like with a token', async () => {
    const { call, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const { token } = await newSeededUser(call, INVITED)
    const session = (await call('POST', '/v4/session', { token })).body.session_id
    expect((await call('POST', `/v4/transfers/${id}/claim`, { session })).body.status).toBe('completed')
  })

  it('is 403 for the sender, 404 for everybody else, and 409 for a transfer that arrived at once', async () => {
    const { call, seller, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const other = await newPayer(call, seller)
    const claim = (token: string, transfer: number) => call('POST', `/v4/transfers/${transfer}/claim`, { token })
    expectProblem(await claim(payer.token, id), 403, 'not_invited')
    expectProblem(await claim(other.token, id), 404, 'not_found')
    expectProblem(await claim(other.token, 999999), 404, 'not_found')
    const direct = (await send(call, payer, { address: other.hostname, amount: 1 })).body.id
    expectProblem(await claim(other.token, direct), 409, 'transfer_settled')
    expectProblem(await claim(payer.token, direct), 403, 'not_invited')
    expect(await walletOf(call, payer)).toBe(6.5)
  })

  it('is 410 from the moment that the invitation ends', async () => {
    const { call, at, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const ada = await newSeededUser(call, INVITED)
    for (const ms of [30 * DAY, 30 * DAY + 1000]) {
      await setClock(call, at + ms)
      const { token } = await again(call, ada)
      expectProblem(await call('POST', `/v4/transfers/${id}/claim`, { token }), 410, 'transfer_expired')
      expect(await walletOf(call, { token })).toBe(0)
    }
  })

  it('works until then', { tags: 'everywhere' }, async () => {
    const { call, at, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const ada = await newSeededUser(call, INVITED)
    await setClock(call, at + 30 * DAY - 1000)
    const { token } = await again(call, ada)
    expect((await call('POST', `/v4/transfers/${id}/claim`, { token })).status).toBe(200)
    await setClock(call, at + 31 * DAY)
    const later = await again(call, payer)
    expect((await call('GET', `/v4/transfers/${id}`, later)).body.status).toBe('completed')
    expect(await walletOf(call, later)).toBe(7.5)
    await expectSoundLedger(call)
  })
})

contract('cancelTransfer', (start) => {
  it('POST /v4/transfers/:id/cancel frees the amount and removes the invitation', async () => {
    const { call, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const ada = await newSeededUser(call, INVITED)
    const cancelled = await call('POST', `/v4/transfers/${id}/cancel`, { token: payer.token })
    expect([cancelled.status, cancelled.body.status]).toEqual([200, 'cancelled'])
    expect(await walletOf(call, payer)).toBe(10)
    expectProblem(await call('POST', `/v4/transfers/${id}/cancel`, { token: payer.token }), 409, 'transfer_settled')
    expectProblem(await call('POST', `/v4/transfers/${id}/claim`, { token: ada.token }), 409, 'transfer_settled')
    expectProblem(await call('GET', `/v4/transfers/${id}`, { token: ada.token }), 404, 'not_found')
    expect((await call('GET', '/v4/transfers', { token: ada.token })).body.transfers).toEqual([])
    const session = await newSession(call, INVITED)
    expect(await walletOf(call, { session })).toBe(0)
    expect(typesOf(await transferEvents(call, payer))).toEqual(['transfer.invited', 'transfer.cancelled'])
    expect(typesOf(await transferEvents(call, ada))).toEqual(['transfer.cancelled'])
    await expectSoundLedger(call)
  })

  it('is 403 for the invited, 404 for anybody else, and 409 for what came at once', async () => {
    const { call, seller, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const ada = await newSeededUser(call, INVITED)
    const cancel = (token: string, transfer: number) => call('POST', `/v4/transfers/${transfer}/cancel`, { token })
    expectProblem(await cancel(ada.token, id), 403, 'not_owner')
    for (const { token } of [await newPayer(call, seller), seller])
      expectProblem(await cancel(token, id), 404, 'not_found')
    const direct = (await send(call, payer, { address: ada.hostname, amount: 1 })).body.id
    expectProblem(await cancel(payer.token, direct), 409, 'transfer_settled')
    expect(await walletOf(call, payer)).toBe(6.5)
  })
})

contract('an invitation', (start) => {
  it('that nobody claims returns after 30 days with a mail to its sender', async () => {
    const { call, at, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    await setClock(call, at + 30 * DAY - 1)
    let sender = await again(call, payer)
    expect([await walletOf(call, sender), (await call('GET', `/v4/transfers/${id}`, sender)).body.status]).toEqual([
      7.5,
      'invited',
    ])
    await setClock(call, at + 40 * DAY)
    sender = await again(call, payer)
    expect([await walletOf(call, sender), (await call('GET', `/v4/transfers/${id}`, sender)).body.status]).toEqual([
      10,
      'expired',
    ])
    expectProblem(await call('POST', `/v4/transfers/${id}/cancel`, sender), 409, 'transfer_settled')
    const events = await transferEvents(call, sender)
    expect(typesOf(events)).toEqual(['transfer.invited', 'transfer.expired'])
    expect([events[1].actor, events[1].created_at]).toEqual(['service', (at + 30 * DAY) / 1000])
    const mail = await lastMail(call, payer.email)
    expect(mail.subject).toBe('2.50 USD came back to you')
    expect(mail.text).toBe(`${INVITED} did not claim 2.50 USD in time. It is back in your wallet.`)
    await expectSoundLedger(call)
  })

  it('of an account returns too, with a mail to its owners', async () => {
    const { call, at, payer } = await newSender(start)
    const body = { dq: await defaultDq(call), email: 'owner@example.test' }
    const { account, twin } = (await call('POST', '/v4/account/register', { body })).body
    await send(call, payer, { address: twin.hostname, amount: 4 })
    const [, { client_id: clientId, client_secret: clientSecret }] = account.secrets
    const owner = await again(call, { id: account.id, publicSecret: '', clientId, clientSecret, token: '' })
    await inviteByMail(call, owner)
    await setClock(call, at + 30 * DAY)
    expect(await walletOf(call, await again(call, owner))).toBe(4)
    expect((await lastMail(call, 'owner@example.test')).subject).toBe('2.50 USD came back to you')
  })

  it('is claimed by a sign-up with the email, together with all others', async () => {
    const { call, payer, seller } = await newSender(start)
    const ids = [(await inviteByMail(call, payer)).id, (await inviteByMail(call, payer, { amount: 1 })).id]
    await send(call, payer, { address: 'other@example.test', amount: 1 })
    const session = await newSession(call, 'ADA@example.test')
    expect(await walletOf(call, { session })).toBe(3.5)
    const { transfers } = (await call('GET', '/v4/transfers', { session })).body
    expect(transfers.map(({ id, status }: any) => [id, status])).toEqual(
      [...ids].reverse().map((id) => [id, 'completed']),
    )
    expect(typesOf(await transferEvents(call, { session }))).toEqual(['transfer.claimed', 'transfer.claimed'])
    expect((await call('GET', '/v4/transfers', { token: seller.token })).body.transfers).toEqual([])
    expect(await walletOf(call, payer)).toBe(5.5)
    await expectSoundLedger(call)
  })

  it('is claimed by the first sign-in of a user, not by an account that creates the user', async () => {
    const { call, payer, seller } = await newSender(start)
    await inviteByMail(call, payer)
    const ada = await newPayer(call, seller, { email: INVITED })
    await call('POST', '/v4/session', { token: ada.token })
    expect(await walletOf(call, ada)).toBe(0)
    await newSession(call, INVITED)
    expect(await walletOf(call, ada)).toBe(2.5)
    expect((await send(call, payer, { address: INVITED, amount: 1 })).body.status).toBe('completed')
  })

  it('that has ended cannot be claimed by a sign-up', async () => {
    const { call, at, payer } = await newSender(start)
    await inviteByMail(call, payer)
    await setClock(call, at + 30 * DAY)
    const session = await newSession(call, INVITED)
    expect(await walletOf(call, { session })).toBe(0)
    expect(await walletOf(call, await again(call, payer))).toBe(10)
  })
})
