import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, setClock, stopClock } from '../../support/scenes/market.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../../support/scenes/sign-in.js'
import { defaultDq, newPayer, newSeller, newSession, newUser } from '../../support/scenes/world.js'

const SESSION = /^ms_[0-9a-f]{32}$/
const EMAIL = 'ada@example.test'
const MINUTE = 60_000

contract('readSession', (start) => {
  it('GET /v4/session issues a session for 24 hours, with nobody signed in', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, url } = await start()
    const at = (await stopClock(call)) / 1000
    const { status, body, headers } = await call('GET', '/v4/session')
    expect(status).toBe(200)
    expect(body).toEqual({ session_id: expect.stringMatching(SESSION), user: null, expires_at: at + 86_400 })
    expect(headers.get('x-session-id')).toBe(body.session_id)
    const path = new URL(url).pathname
    expect(headers.get('set-cookie')).toBe(`session_id=${body.session_id}; Path=${path}; HttpOnly; SameSite=Lax`)
  })

  it('issues a new one to everybody who sends none', async () => {
    const { call } = await start()
    expect(await newGuest(call)).not.toBe(await newGuest(call))
  })

  it('returns the one that is sent', async () => {
    const { call, made: session } = await startWith(start, newGuest)
    const { body, headers } = await call('GET', '/v4/session', { session })
    expect(body.session_id).toBe(session)
    expect(headers.get('x-session-id')).toBe(session)
    expect(headers.get('set-cookie')).toBeNull()
  })

  it('replaces an invalid one', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    for (const session of ['nonsense', 'ms_', `ms_${'G'.repeat(32)}`, `ms_${'0'.repeat(33)}`]) {
      const { body, headers } = await call('GET', '/v4/session', { session })
      expect(body.session_id).toMatch(SESSION)
      expect(body.session_id).not.toBe(session)
      expect(headers.get('set-cookie')).toContain(body.session_id)
    }
  })

  it('an empty session is not stored', async () => {
    const { call, state } = await start()
    const before = await state()
    const session = await newGuest(call)
    await call('GET', '/v4/session', { session })
    expect(await state()).toEqual(before)
  })

  it('shows who is signed in, without their secrets', async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const payer = await newPayer(call, await newSeller(call))
    const session = await newSession(call, payer.email)
    await advance(call, '1h')
    const { body } = await call('GET', '/v4/session', { session })
    expect(body).toEqual({
      session_id: session,
      user: {
        id: payer.id,
        email: payer.email,
        created_at: String(at),
        updated_at: String(at),
        deleted_at: null,
        is_android: false,
        is_ios: false,
      },
      expires_at: at + 86_400,
    })
  })
})

contract('sendSessionCode', (start) => {
  it('POST /v4/session/code mails six digits and answers 202 with their expiry', async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const { status, body } = await askCode(call, await newGuest(call), EMAIL)
    expect(status).toBe(202)
    expect(body).toEqual({ expires_at: at + 600 })
    const { messages } = (await call('GET', '/_sandbox/outbox')).body
    expect(messages).toEqual([
      expect.objectContaining({ kind: 'mail', to: EMAIL, codes: [expect.stringMatching(/^\d{6}$/)], links: [] }),
    ])
    expect(messages[0].text).toContain(messages[0].codes[0])
  })

  it('issues a session if none is sent', async () => {
    const { call } = await start()
    const { headers } = await call('POST', '/v4/session/code', { body: { email: EMAIL } })
    const session = headers.get('x-session-id') as string
    expect(session).toMatch(SESSION)
    expect((await verify(call, session, EMAIL, await mailedCode(call, EMAIL))).status).toBe(200)
  })

  it('answers and mails the same whether or not the email has a user', async () => {
    const { call } = await start()
    await stopClock(call)
    await newPayer(call, await newSeller(call), { email: EMAIL })
    const shown = []
    for (const email of [EMAIL, 'new@example.test']) {
      const session = await newGuest(call)
      const { status, text, headers } = await askCode(call, session, email)
      const [mail] = (await call('GET', `/_sandbox/outbox?to=${email}`)).body.messages
      const blank = (written: string) => written.replaceAll(mail.codes[0], '******')
      const kept = [...headers].filter(([name]) => !['x-session-id', 'x-request-id', 'date'].includes(name))
      shown.push({ status, text, kept, mail: [blank(mail.subject), blank(mail.text)] })
    }
    expect(shown[1]).toEqual(shown[0])
  })

  it('sends an email address five codes in 15 minutes; the sixth is 429 and says when to retry', async () => {
    const { call } = await start()
    await stopClock(call)
    for (let i = 0; i < 5; i++) {
      // Each from another session: what is counted is the email.
      expect((await askCode(call, await newGuest(call), i % 2 ? EMAIL : EMAIL.toUpperCase())).status).toBe(202)
      await advance(call, '1m')
    }
    const refused = await askCode(call, await newGuest(call), EMAIL)
    expectProblem(refused, 429, 'too_many_codes')
    expect(refused.headers.get('retry-after')).toBe(String(10 * 60))
    expect((await call('GET', `/_sandbox/outbox?to=${EMAIL}`)).body.messages).toHaveLength(5)
    expect((await askCode(call, await newGuest(call), 'eve@example.test')).status).toBe(202)

    await advance(call, '9m59s')
    const last = await askCode(call, await newGuest(call), EMAIL)
    expectProblem(last, 429, 'too_many_codes')
    expect(last.headers.get('retry-after')).toBe('1')
    await advance(call, '1s')
    expect((await askCode(call, await newGuest(call), EMAIL)).status).toBe(202)
    expectProblem(await askCode(call, await newGuest(call), EMAIL), 429, 'too_many_codes')
  })

  it('old codes do not pile up', async () => {
    const { call, state } = await start()
    await stopClock(call)
    for (let i = 0; i < 4; i++) await askCode(call, await newGuest(call), `user-${i}@example.test`)
    await advance(call, '2d')
    await askCode(call, await newGuest(call), EMAIL)
    expect((await state()).rows.sign_in_codes).toHaveLength(1)
  })

  it('reaches 429 in the same way whether or not the email has a user', async () => {
    const { call } = await start()
    await stopClock(call)
    await newPayer(call, await newSeller(call), { email: EMAIL })
    const answers = []
    for (const email of [EMAIL, 'new@example.test']) {
      for (let i = 0; i < 5; i++) await askCode(call, await newGuest(call), email)
      answers.push((await askCode(call, await newGuest(call), email)).text)
    }
    expect(answers[1]).toBe(answers[0])
  })

  it.each([{}, { email: 1 }, { email: 'ada' }, { email: 'a@example.test\nBcc: b@example.test' }])(
    'requires an email address: %j is 400, names the field, and mails nothing',
    async (body) => {
      const { call } = await start()
      const answer = await call('POST', '/v4/session/code', { body })
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe('email')
      expect((await call('GET', '/_sandbox/outbox')).body.messages).toEqual([])
    },
  )
})

contract('verifySessionCode', (start) => {
  it('POST /v4/session/verify signs in the reader of the email', { tags: 'everywhere' }, async () => {
    const { call, made: payer } = await startWith(start, newUser, { email: EMAIL })
    const session = await newGuest(call)
    await askCode(call, session, EMAIL)
    const answer = await verify(call, session, ' ADA@example.test', ` ${await mailedCode(call, EMAIL)} `)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      session_id: expect.stringMatching(SESSION),
      user: expect.objectContaining({ id: payer.id, email: EMAIL }),
    })
    expect(answer.body.user).not.toHaveProperty('secrets')
    const { twins } = (await call('GET', '/v4/twins', { session: answer.body.session_id })).body
    expect(twins[0].hostname).toBe(payer.hostname)
  })

  it('ends nothing in a sandbox at the first sign-in, and mails only the code', async () => {
    const { call, made: payer } = await startWith(start, newUser, { email: EMAIL })
    await newSession(call, EMAIL)
    expect((await call('GET', '/v4/twins', { token: payer.token })).status).toBe(200)
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${EMAIL}`)).body
    expect(messages).toEqual([expect.objectContaining({ subject: expect.stringContaining('sign-in code') })])
    const { events } = (await call('GET', '/v4/events?type=user.email_verified', { token: payer.token })).body
    expect(events).toMatchObject([{ data: { ended: [], account_ids: [] } }])
  })

  it('signs an unknown email up, with a primary twin in the first digital quantity', async () => {
    const { call, made: session } = await startWith(start, newSession, 'new@example.test')
    const { user } = (await call('GET', '/v4/session', { session })).body
    expect(user.email).toBe('new@example.test')
    const { twins } = (await call('GET', '/v4/twins', { session })).body
    expect(twins).toHaveLength(1)
    expect(twins[0].balances).toEqual({ [await defaultDq(call)]: 0 })
    expect((await call('GET', `/v4/user/${user.id}`, { session })).body).not.toHaveProperty('secrets')
    expect(
      (await call('GET', '/v4/session', { session: await newSession(call, 'new@example.test') })).body.user,
    ).toEqual(user)
  })

  it('the session gets a new id, so an id that someone else knows is useless', {
    tags: 'everywhere',
  }, async () => {
    const { call, made: known } = await startWith(start, newGuest)
    await askCode(call, known, EMAIL)
    const { body, headers } = await verify(call, known, EMAIL, await mailedCode(call, EMAIL))
    expect(body.session_id).not.toBe(known)
    expect(headers.get('x-session-id')).toBe(body.session_id)
    expect(headers.get('set-cookie')).toContain(`session_id=${body.session_id};`)
    expect((await call('GET', '/v4/session', { session: known })).body.user).toBeNull()
    expectProblem(await call('GET', '/v4/twins', { session: known }), 401, 'sign_in_required')
  })

  it('signing in again ends the earlier session', async () => {
    const { call, made: first } = await startWith(start, newSession, EMAIL)
    await askCode(call, first, 'eve@example.test')
    const second = (await verify(call, first, 'eve@example.test', await mailedCode(call, 'eve@example.test'))).body
    expect(second.user.email).toBe('eve@example.test')
    expectProblem(await call('GET', '/v4/twins', { session: first }), 401, 'sign_in_required')
  })

  it('a code works once', async () => {
    const { call, made: session } = await startWith(start, newGuest)
    await askCode(call, session, EMAIL)
    const code = await mailedCode(call, EMAIL)
    const both = await Promise.all([verify(call, session, EMAIL, code), verify(call, session, EMAIL, code)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 410])
    expectProblem(await verify(call, session, EMAIL, code), 410, 'code_expired')
  })

  it.each([
    ['one second before ten minutes are over it works', 10 * MINUTE - 1000, 200],
    ['after ten minutes it has expired', 10 * MINUTE, 410],
    ['and one second later too', 10 * MINUTE + 1000, 410],
  ])('a code lasts ten minutes: %s', async (_, later, status) => {
    const { call } = await start()
    const at = await stopClock(call)
    const session = await newGuest(call)
    await askCode(call, session, EMAIL)
    const code = await mailedCode(call, EMAIL)
    await setClock(call, at + later)
    const answer = await verify(call, session, EMAIL, code)
    expect(answer.status).toBe(status)
    if (status === 410) expectProblem(answer, 410, 'code_expired')
  })

  it('a wrong code is 401, and leaves the right one', async () => {
    const { call, made: session } = await startWith(start, newGuest)
    await askCode(call, session, EMAIL)
    const code = await mailedCode(call, EMAIL)
    for (const wrong of [wrongCode(code), '', 'abcdef', `${code}0`])
      expectProblem(await verify(call, session, EMAIL, wrong), 401, 'code_wrong')
    expect((await verify(call, session, EMAIL, code)).status).toBe(200)
  })

  it('after five wrong tries even the right code is 429 until a new one is sent', async () => {
    const { call } = await start()
    await stopClock(call)
    const session = await newGuest(call)
    await askCode(call, session, EMAIL)
    const code = await mailedCode(call, EMAIL)
    for (let i = 0; i < 5; i++) expectProblem(await verify(call, session, EMAIL, wrongCode(code)), 401, 'code_wrong')
    const refused = await verify(call, session, EMAIL, code)
    expectProblem(refused, 429, 'too_many_tries')
    expect(refused.headers.get('retry-after')).toBe('600')
    await askCode(call, session, EMAIL)
    expect((await verify(call, session, EMAIL, await mailedCode(call, EMAIL))).status).toBe(200)
  })

  it('tries at once are counted one by one', async () => {
    const { call, made: session } = await startWith(start, newGuest)
    await askCode(call, session, EMAIL)
    const wrong = wrongCode(await mailedCode(call, EMAIL))
    const answers = await Promise.all(Array.from({ length: 8 }, () => verify(call, session, EMAIL, wrong)))
    expect(answers.map(({ status }) => status).sort()).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
  })

  it('only the latest code works', async () => {
    const { call, made: session } = await startWith(start, newGuest)
    const [first, second] = ['ada+code111111@example.test', 'ada+code222222@example.test'] as const
    await askCode(call, session, EMAIL)
    const before = await mailedCode(call, EMAIL)
    await askCode(call, session, EMAIL)
    const after = await mailedCode(call, EMAIL)
    if (before !== after) expectProblem(await verify(call, session, EMAIL, before), 401, 'code_wrong')
    expect((await verify(call, session, EMAIL, after)).status).toBe(200)

    await askCode(call, session, first)
    await askCode(call, session, second)
    expectProblem(await verify(call, session, first, '222222'), 401, 'code_wrong')
    expect((await verify(call, session, first, '111111')).status).toBe(200)
  })

  it('a code works only in the session that requested it, and only for its email', async () => {
    const { call, made: session } = await startWith(start, newGuest)
    await askCode(call, session, EMAIL)
    const code = await mailedCode(call, EMAIL)
    expectProblem(await verify(call, await newGuest(call), EMAIL, code), 401, 'session_required')
    expectProblem(await verify(call, session, 'eve@example.test', code), 401, 'session_required')
    expect((await verify(call, session, EMAIL, code)).status).toBe(200)
  })

  it.each([
    ['email', { code: '123456' }],
    ['code', { email: EMAIL }],
    ['code', { email: EMAIL, code: 123456 }],
    ['email', { email: ['x'], code: '123456' }],
  ])('a missing or wrong %s is 400 and names the field: %j', async (field, body) => {
    const { call } = await start()
    const answer = await call('POST', '/v4/session/verify', { body })
    expectProblem(answer, 400, 'field_invalid')
    expect(answer.body.field).toBe(field)
  })
})

contract('a signed-in session', (start) => {
  it.each([
    ['one second before 24 hours are over it is', 86_400_000 - 1000, 200],
    ['after 24 hours it is no longer', 86_400_000, 401],
    ['and one second later neither', 86_400_000 + 1000, 401],
  ])('lasts 24 hours: %s', async (_, later, status) => {
    const { call } = await start()
    const at = await stopClock(call)
    const session = await newSession(call, EMAIL)
    await setClock(call, at + later)
    const answer = await call('GET', '/v4/twins', { session })
    expect(answer.status).toBe(status)
    if (status === 401) expectProblem(answer, 401, 'sign_in_required')
    expect((await call('GET', '/v4/session', { session })).body.user === null).toBe(status === 401)
  })

  it('DELETE /v4/session signs out this session everywhere, and no other', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call } = await start()
    const [session, other] = [await newSession(call, EMAIL), await newSession(call, EMAIL)]
    const { status, text, headers } = await call('DELETE', '/v4/session', { session })
    expect([status, text]).toEqual([204, ''])
    expect(headers.get('set-cookie')).toMatch(/^session_id=; Max-Age=0;/)
    expect(headers.get('x-session-id')).toBeNull()
    expectProblem(await call('GET', '/v4/twins', { session }), 401, 'sign_in_required')
    const headersWithCookie = { cookie: `session_id=${session}` }
    expectProblem(await call('GET', '/v4/twins', { headers: headersWithCookie }), 401, 'sign_in_required')
    expect((await call('GET', '/v4/twins', { session: other })).status).toBe(200)
  })

  it('signing out without a sign-in gets the same answer and stores nothing', {
    tags: 'everywhere',
  }, async () => {
    const { call, state } = await start()
    const before = (await state()).rows
    expect((await call('DELETE', '/v4/session')).status).toBe(204)
    expect((await call('DELETE', '/v4/session', { session: await newGuest(call) })).status).toBe(204)
    expect((await state()).rows).toEqual(before)
  })

  it('leaves nothing behind after it is signed out', async () => {
    const { call, state, made: session } = await startWith(start, newSession, EMAIL)
    expect((await state()).rows.sessions).toHaveLength(1)
    await call('DELETE', '/v4/session', { session })
    expect((await state()).rows.sessions ?? []).toEqual([])
  })
})
