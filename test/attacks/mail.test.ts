import { describe, expect, it, test } from 'vitest'
import type { Call, CallOptions } from '../support/api.js'
import { startHere } from '../support/contract/in-process.js'
import { advance, expectProblem, expectSoundLedger, stopClock } from '../support/scenes/market.js'
import { askedAuthorization, newMarket, newPage, ORIGIN, paywall, setPhone } from '../support/scenes/paywall.js'
import { answerFromDevice, answerLink, ask, mailedLink, poll, registerDevice } from '../support/scenes/second-factor.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../support/scenes/sign-in.js'
import { again, INVITED, newSender, send, walletOf } from '../support/scenes/transfers.js'
import { newCommodity, newPayer, newSeller, newSession } from '../support/scenes/world.js'

const messagesTo = async (call: Call, to: string, kind = 'mail'): Promise<{ subject: string; text: string }[]> =>
  (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(to)}&kind=${kind}&limit=100`)).body.messages

describe('the text of a caller who requests a second factor', () => {
  const forged = {
    security_notice: 'Your wallet is locked. Sign in at https://evil.example/unlock or www.evil.example now',
    contact: 'mailto:help@evil.example',
    'Approve it here': 'evil.example/approve',
    hidden: 'a\u202eb\u200b\u0007',
    lines: 'one\n\nFarthing: all is well',
  }

  it('cannot look like a sentence, line or link of the service in a mail', async () => {
    const { call } = await startHere()
    const payer = await newPayer(call, await newSeller(call))
    await ask(call, payer, { action: 'your_account_is_locked_call_us', detail: forged })
    const [mail] = await messagesTo(call, payer.email)
    const { subject = '', text = '' } = mail ?? {}
    expect(subject).toBe('Approve or reject: “Your account is locked call us”')
    expect((await call('GET', '/_sandbox/outbox')).body.messages[0].links).toEqual([
      expect.stringContaining('/v4/authentication-requests/'),
    ])
    expect(text).not.toMatch(/evil\.example|https:\/\/evil|[\u200b\u202e]|\nFarthing/)
    const [, words = ''] = /text:\n“(.*)”\n/.exec(text) ?? []
    expect(words).toContain('Sign in at (link removed) or (link removed) now')
    expect([...words].length).toBeLessThanOrEqual(200)
  })

  it('has at most 200 characters in a push and on the page of a mailed link', async () => {
    const { call } = await startHere()
    const payer = await newPayer(call, await newSeller(call))
    await ask(call, payer, { detail: { text: 'x'.repeat(1000) } })
    const page = (await call('GET', (await mailedLink(call, payer.email)).path)).text
    await registerDevice(call, payer)
    await ask(call, payer, { detail: { text: 'x'.repeat(1000) } })
    const [push] = await messagesTo(call, payer.email, 'push')
    for (const text of [page, push?.text ?? ''])
      expect(/x+/g.exec(text.slice(text.indexOf('“')))?.[0].length).toBeLessThan(200)
  })

  it('cannot name an action of the service: its approval moves nothing', async () => {
    const { call, payer } = await newSender(startHere)
    const session = await newSession(call, payer.email)
    await registerDevice(call, payer)
    const { dq } = (await call('GET', '/v4/twins', payer)).body.twins[0]
    const detail = { payee: INVITED, amount: '2.500', dq: dq ?? 'USD' }
    for (const shortcode of [detail.dq, 'USD']) {
      const forged = (await ask(call, { session }, { action: 'transfer', detail: { ...detail, dq: shortcode } })).body
      await answerFromDevice(call, payer, { id: forged.id })
    }
    await call('POST', `/_sandbox/devices/${payer.id}`, { body: { mode: 'reject' } })
    expectProblem(await send(call, { session }, { address: INVITED, amount: 2.5 }), 403, 'rejected')
    expect(await walletOf(call, payer)).toBe(10)
  })
})

describe('invitations', () => {
  it('to one address are limited to five in 15 minutes from all senders, and the sixth holds nothing', async () => {
    const { call, seller, payer } = await newSender(startHere)
    const others = [await newPayer(call, seller, { balance: 10 }), await newPayer(call, seller, { balance: 10 })]
    const senders = [payer, ...others, payer, others[0]] as CallOptions[]
    for (const [n, sender] of senders.entries()) {
      const address = n % 2 ? INVITED.toUpperCase() : ` ${INVITED} `
      expect((await send(call, sender, { address, amount: 1 })).status).toBe(201)
    }
    for (const sender of [payer, ...others]) {
      const held = await walletOf(call, sender)
      const refused = await send(call, sender, { address: INVITED, amount: 1 })
      expectProblem(refused, 429, 'too_many_mails')
      expect(refused.headers.get('retry-after')).toBe('900')
      expect(await walletOf(call, sender)).toBe(held)
    }
    expect(await messagesTo(call, INVITED)).toHaveLength(5)
    expect((await send(call, payer, { address: 'eve@example.test', amount: 1 })).status).toBe(201)
    await expectSoundLedger(call)
    await advance(call, '15m')
    expect((await send(call, payer, { address: INVITED, amount: 1 })).status).toBe(201)
  })

  it('at once are limited to five too', async () => {
    const { call, payer } = await newSender(startHere)
    const answers = await Promise.all(
      Array.from({ length: 9 }, () => send(call, payer, { address: INVITED, amount: 1 })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(5).fill(201), ...Array(4).fill(429)])
    expect(await walletOf(call, payer)).toBe(5)
  })

  it('are refused before a session’s user is asked to approve one', async () => {
    const { call, payer } = await newSender(startHere)
    for (let n = 0; n < 5; n++) await send(call, payer, { address: INVITED, amount: 1 })
    const session = await newSession(call, payer.email)
    await registerDevice(call, payer)
    expectProblem(await send(call, { session }, { address: INVITED, amount: 1 }), 429, 'too_many_mails')
    expect(await messagesTo(call, payer.email, 'push')).toEqual([])
  })

  it('leave their key free when they are refused', async () => {
    const { call, payer } = await newSender(startHere)
    for (let n = 0; n < 5; n++) await send(call, payer, { address: INVITED, amount: 1 })
    const keyed = { token: payer.token, headers: { 'idempotency-key': 'one' } }
    expectProblem(await send(call, keyed, { address: INVITED, amount: 1 }), 429, 'too_many_mails')
    await advance(call, '15m')
    expect((await send(call, keyed, { address: INVITED, amount: 1 })).status).toBe(201)
  })

  it("do not use up the recipient's sign-in codes", async () => {
    const { call, payer } = await newSender(startHere)
    for (let n = 0; n < 6; n++) await send(call, payer, { address: INVITED, amount: 1 })
    for (let n = 0; n < 5; n++) expect((await askCode(call, await newGuest(call), INVITED)).status).toBe(202)
  })

  it('that nobody claims cause at most five mails to their sender when they end', async () => {
    const { call, payer } = await newSender(startHere)
    for (let n = 0; n < 8; n++) await send(call, payer, { address: `friend-${n}@example.test`, amount: 1 })
    await advance(call, '30d')
    const told = (await messagesTo(call, payer.email)).filter(({ subject }) => subject.includes('came back'))
    expect(told).toHaveLength(5)
    expect(await walletOf(call, await again(call, payer))).toBe(10)
  })
})

describe('requests for a second factor', () => {
  it('that nobody approves are limited to five in 15 minutes, however they are answered', async () => {
    const { call } = await startHere()
    await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    await registerDevice(call, payer)
    for (let n = 0; n < 5; n++) {
      const { id } = (await ask(call, payer)).body
      if (n % 2) await answerFromDevice(call, payer, { id, verb: 'reject' })
      await advance(call, '2m')
    }
    const refused = await ask(call, payer)
    expectProblem(refused, 429, 'too_many_mails')
    expect(refused.headers.get('retry-after')).toBe('300')
    expect(await messagesTo(call, payer.email, 'push')).toHaveLength(5)
    await advance(call, '5m')
    expect((await ask(call, payer)).status).toBe(201)
  })

  it('that are approved do not count', async () => {
    const { call } = await startHere()
    await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    await registerDevice(call, payer)
    for (let n = 0; n < 12; n++) {
      const { id } = (await ask(call, payer)).body
      expect((await answerFromDevice(call, payer, { id })).status).toBe(200)
    }
  })

  it('of a page are limited to five in 15 minutes, charge nothing after that, and do not count against the user', async () => {
    const { call } = await startHere()
    await stopClock(call)
    const market = await newMarket(call)
    const page = await newPage(call, market, 'reject')
    for (let n = 0; n < 5; n++) expectProblem(await paywall(call, page, { amount: 1 }), 403, 'rejected')
    expectProblem(await paywall(call, page, { amount: 1 }), 429, 'too_many_mails')
    await setPhone(call, market.payer, 'manual')
    const session = await newSession(call, market.payer.email)
    await setPhone(call, market.payer, 'reject')
    const another = await call('POST', '/v4/session/page', {
      session,
      body: { hash: market.hash, origin: ORIGIN },
    })
    const next = { session: another.body.session_id, headers: { origin: ORIGIN } }
    expectProblem(await paywall(call, next, { amount: 1 }), 429, 'too_many_mails')
    expect(await walletOf(call, market.payer)).toBe(10)
    const pushes = await messagesTo(call, market.payer.email, 'push')
    expect(pushes.filter(({ subject }) => subject.endsWith('Payment'))).toHaveLength(5)
    expect((await ask(call, market.payer)).status).toBe(201)
  })

  it('of a page continue while the user approves them', async () => {
    const { call } = await startHere()
    const market = await newMarket(call)
    const page = await newPage(call, market, 'approve')
    for (let n = 0; n < 7; n++) expect((await paywall(call, page, { amount: 1 })).status).toBe(200)
    expect((await askedAuthorization(call, market.payer)).status).toBe('approved')
  })
})

test("to an account's billing address stop at five, and strangers' invitations do not count", async () => {
  const { call, seller, payer } = await newSender(startHere)
  await call('PUT', '/v4/billing/profile', { token: seller.token, body: { billing_email: INVITED } })
  for (let n = 0; n < 5; n++) await send(call, payer, { address: INVITED, amount: 1 })
  const plan = (name: string) =>
    call('PUT', '/v4/billing/plan', { token: seller.token, body: { plan: name, payment_method_id: 'pm_card_visa' } })
  expect((await plan('growth')).status).toBe(200)
  expect((await messagesTo(call, INVITED))[0]?.subject).toContain('Receipt for invoice')
})

describe('sign-in codes', () => {
  const EMAIL = 'ada@example.test'

  it('that were used do not count: a person signs in as often as they like', async () => {
    const { call } = await startHere()
    await stopClock(call)
    for (let n = 0; n < 12; n++) expect(await newSession(call, EMAIL)).toMatch(/^ms_/)
  })

  it('that nobody used are limited to five in 15 minutes, and the refusal says when to retry', async () => {
    const { call } = await startHere()
    await stopClock(call)
    await newSession(call, EMAIL)
    for (let n = 0; n < 5; n++) expect((await askCode(call, await newGuest(call), EMAIL)).status).toBe(202)
    const refused = await askCode(call, await newGuest(call), EMAIL)
    expectProblem(refused, 429, 'too_many_codes')
    expect(refused.body.error).toContain('Try again in 900 seconds.')
  })

  it('are not freed by a wrong code, nor by a code that is used twice', async () => {
    const { call } = await startHere()
    await stopClock(call)
    const session = await newGuest(call)
    for (let n = 0; n < 4; n++) await askCode(call, await newGuest(call), EMAIL)
    await askCode(call, session, EMAIL)
    const code = await mailedCode(call, EMAIL)
    await verify(call, session, EMAIL, wrongCode(code))
    expectProblem(await askCode(call, await newGuest(call), EMAIL), 429, 'too_many_codes')
    expect((await verify(call, session, EMAIL, code)).status).toBe(200)
    expect((await verify(call, session, EMAIL, code)).status).not.toBe(200)
    expect((await askCode(call, await newGuest(call), EMAIL)).status).toBe(202)
    expectProblem(await askCode(call, await newGuest(call), EMAIL), 429, 'too_many_codes')
  })

  it('that others request do not lock a person out of a browser that they used before', async () => {
    const { call } = await startHere()
    await stopClock(call)
    const own = await newSession(call, EMAIL)
    await advance(call, '25h')
    for (let n = 0; n < 6; n++) await askCode(call, await newGuest(call), EMAIL)
    expectProblem(await askCode(call, await newGuest(call), EMAIL), 429, 'too_many_codes')
    expect((await askCode(call, own, EMAIL)).status).toBe(202)
    expect((await verify(call, own, EMAIL, await mailedCode(call, EMAIL))).status).toBe(200)
  })

  it('of that browser are limited too, and it cannot exceed the limit of a different address', async () => {
    const { call } = await startHere()
    await stopClock(call)
    const own = await newSession(call, EMAIL)
    for (let n = 0; n < 5; n++) expect((await askCode(call, own, EMAIL)).status).toBe(202)
    expectProblem(await askCode(call, own, EMAIL), 429, 'too_many_codes')
    for (let n = 0; n < 5; n++) await askCode(call, own, 'eve@example.test')
    expectProblem(await askCode(call, own, 'eve@example.test'), 429, 'too_many_codes')
    expectProblem(await askCode(call, await newGuest(call), 'eve@example.test'), 429, 'too_many_codes')
  })

  it('that a page around an embed requests count like those of any stranger', async () => {
    const { call } = await startHere()
    await stopClock(call)
    const own = await newSession(call, EMAIL)
    const { hash } = await newCommodity(call, await newSeller(call))
    const origin = 'https://shop.example.test'
    const page = await call('POST', '/v4/session/page', { session: own, body: { hash, origin } })
    for (let n = 0; n < 5; n++) await askCode(call, await newGuest(call), EMAIL)
    const body = { email: EMAIL }
    const asked = await call('POST', '/v4/session/code', { session: page.body.session_id, headers: { origin }, body })
    expectProblem(asked, 429, 'too_many_codes')
  })

  it("can be limited further by an option, and a sandbox's special addresses have no limit", async () => {
    const { call } = await startHere({ limits: { codes: 2 } })
    for (const status of [202, 202, 429]) expect((await askCode(call, await newGuest(call), EMAIL)).status).toBe(status)
    for (let n = 0; n < 8; n++)
      expect((await askCode(call, await newGuest(call), 'ada+code123456@example.test')).status).toBe(202)
  })
})

test('a mailed link answers the words of a caller for whoever reads the mail, once', async () => {
  const { call } = await startHere()
  const payer = await newPayer(call, await newSeller(call))
  const { id } = (await ask(call, payer)).body
  const link = await mailedLink(call, payer.email)
  expect((await answerLink(call, link)).status).toBe(200)
  expect((await answerLink(call, link)).status).toBe(410)
  expect((await poll(call, payer, id)).body.status).toBe('approved')
})
