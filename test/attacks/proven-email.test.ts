import { afterEach, describe, expect, it } from 'vitest'
import { inProcess } from '../runtimes/in-process.js'
import type { Running } from '../runtimes/runtime.js'
import { caller } from '../support/api.js'
import { expectProblem, expectSoundLedger, fund, stopClock } from '../support/scenes/market.js'
import { asClient, claimsIn, newAgent, newConfidentialApp } from '../support/scenes/oidc.js'
import { askCode, mailedCode, newGuest, verify } from '../support/scenes/sign-in.js'
import { lastMail, send, transferEvents, walletOf } from '../support/scenes/transfers.js'
import { basic, defaultDq, newPayer, newSeller, newSession, newTwin, tokenFor } from '../support/scenes/world.js'

const VICTIM = 'victim@example.test'

const open: Running[] = []
afterEach(async () => {
  for (const running of open.splice(0)) await running.close()
})

/** A seller who makes a user for someone else's address, and someone who sends value to that address. */
async function impostor(email: string = VICTIM) {
  const running = await inProcess.start({})
  open.push(running)
  const call = caller(running)
  const thief = await newSeller(call)
  const fake = await newPayer(call, thief, { email })
  const rich = await newPayer(call, await newSeller(call), { balance: 50, email: 'rich@example.test' })
  return { ...running, call, thief, fake, rich }
}

describe("whoever creates a user for another person's address", () => {
  it.each([VICTIM, 'Victim@Example.test', '  VICTIM@example.test '])(
    'receives no transfer to that address: %j',
    async (email) => {
      const { call, fake, rich } = await impostor(email)
      const sent = await send(call, rich, { address: VICTIM, amount: 7 })
      expect([sent.status, sent.body.status]).toEqual([201, 'invited'])
      expect(await walletOf(call, fake)).toBe(0)
      const session = await newSession(call, VICTIM)
      expect(await walletOf(call, { session })).toBe(7)
      expect((await call('GET', `/v4/transfers/${sent.body.id}`, rich)).body.status).toBe('completed')
      expect((await send(call, rich, { address: VICTIM, amount: 1 })).body.status).toBe('completed')
      await expectSoundLedger(call)
    },
  )

  it('cannot claim a waiting transfer or learn whether there is one', async () => {
    const { call, fake, rich } = await impostor()
    const { id } = (await send(call, rich, { address: VICTIM, amount: 7 })).body
    const bySession = (await call('POST', '/v4/session', { token: fake.token })).body.session_id
    for (const who of [{ token: fake.token }, { session: bySession }]) {
      const refused = await call('POST', `/v4/transfers/${id}/claim`, who)
      expectProblem(refused, 404, 'not_found')
      expect(refused.body.error).toContain('/v4/session/code')
      expect((await call('POST', '/v4/transfers/999999/claim', who)).text).toBe(refused.text)
      expectProblem(await call('GET', `/v4/transfers/${id}`, who), 404, 'not_found')
      expectProblem(await call('POST', `/v4/transfers/${id}/cancel`, who), 404, 'not_found')
      expect((await call('GET', '/v4/transfers', who)).body.transfers).toEqual([])
    }
    expect(await transferEvents(call, fake)).toEqual([])
    expect(await walletOf(call, fake)).toBe(0)
  })

  it('gets no event when the sender cancels a transfer', async () => {
    const { call, fake, rich } = await impostor()
    const { id } = (await send(call, rich, { address: VICTIM, amount: 7 })).body
    expect((await call('POST', `/v4/transfers/${id}/cancel`, rich)).status).toBe(200)
    expect(await transferEvents(call, fake)).toEqual([])
  })

  it('cannot read mails or codes for that address in the event log', async () => {
    const { call, fake } = await impostor()
    const session = await newGuest(call)
    await askCode(call, session, VICTIM)
    const code = await mailedCode(call, VICTIM)
    const { events } = (await call('GET', '/v4/events?limit=100', { token: fake.token })).body
    expect(JSON.stringify(events)).not.toContain(code)
    expect(events.filter(({ type }: any) => type.startsWith('email.'))).toEqual([])
  })

  it('cannot read a code in the event log even after the owner proves the address', async () => {
    const { call, fake } = await impostor()
    await newSession(call, VICTIM)
    await askCode(call, await newGuest(call), VICTIM)
    const code = await mailedCode(call, VICTIM)
    const { events } = (await call('GET', '/v4/events?limit=100', { token: fake.token })).body
    expect(events.some(({ type }: any) => type === 'email.sent')).toBe(true)
    expect(JSON.stringify(events)).not.toContain(code)
  })

  it('receives no payback, and uses none up', async () => {
    const { call, fake } = await impostor()
    const seller = await newSeller(call)
    const twin = await newTwin(call, seller.token)
    await fund(call, twin.hostname, 5)
    const body = { descriptor: 'NEWS.CONSENT', dq: await defaultDq(call), cost: 0.25, twin_id: twin.id, payback: true }
    const { hash } = (await call('POST', '/v4/commodity', { token: seller.token, body })).body
    const bySession = (await call('POST', '/v4/session', { token: fake.token })).body.session_id
    for (const who of [{ token: fake.token }, { session: bySession }])
      expectProblem(await call('POST', `/v4/payback/${hash}`, { ...who, body: {} }), 403, 'email_unproven')
    const session = await newSession(call, VICTIM)
    expect((await call('POST', `/v4/payback/${hash}`, { session, body: {} })).status).toBe(202)
  })

  it('cannot make an app see the email as verified: id token, userinfo and introspection', async () => {
    const { call, fake } = await impostor()
    const app = await newConfidentialApp(call)
    const session = (await call('POST', '/v4/session', { token: fake.token })).body.session_id
    const agent = await newAgent(call, { app, session })
    const verified = async (idToken: string, accessToken: string) => [
      claimsIn(idToken).email_verified,
      (await call('GET', '/v4/oidc/me', { token: accessToken })).body.email_verified,
      (await asClient(call, app, 'token/introspection', { token: accessToken })).body.email_verified,
    ]
    expect(await verified(agent.idToken, agent.accessToken)).toEqual([false, false, false])
    const own = await newAgent(call, { app, email: VICTIM })
    expect(await verified(own.idToken, own.accessToken)).toEqual([true, true, true])
  })

  it('cannot send value in the name of that address', async () => {
    const { call, fake } = await impostor('chief@example.test')
    await fund(call, fake.hostname, 5)
    await send(call, fake, { address: 'clerk@example.test', amount: 1 })
    const { subject, text } = await lastMail(call, 'clerk@example.test')
    expect(subject).toBe(`${fake.hostname} sends you 1.00 USD`)
    expect(subject + text).not.toContain('chief@example.test')
  })

  it('cannot send to the address from its own wallet, which would double the value or lose it', async () => {
    const { call, fake } = await impostor()
    await fund(call, fake.hostname, 5)
    for (const address of [VICTIM, 'Victim@example.test', fake.hostname])
      expectProblem(await send(call, fake, { address, amount: 1 }), 422, 'same_twin')
    await newSession(call, VICTIM)
    expect(await walletOf(call, fake)).toBe(5)
    await expectSoundLedger(call)
  })

  it('has no proven address after a seed with email_verified: false', async () => {
    const { call, rich } = await impostor('someone@example.test')
    await call('POST', '/_sandbox/seed', {
      body: {
        users: [
          { email: 'proven@example.test' },
          { email: 'also@example.test', email_verified: true },
          { email: 'unproven@example.test', email_verified: false },
        ],
      },
    })
    const statusFor = async (address: string) => (await send(call, rich, { address, amount: 1 })).body.status
    expect(await statusFor('proven@example.test')).toBe('completed')
    expect(await statusFor('also@example.test')).toBe('completed')
    expect(await statusFor('unproven@example.test')).toBe('invited')
  })
})

describe("whoever registers an account with another person's address", () => {
  it('makes that person an owner only after they sign in with a mailed code', async () => {
    const { call, rich } = await impostor('someone@example.test')
    const body = { dq: await defaultDq(call), email: VICTIM }
    const { account, user } = (await call('POST', '/v4/account/register', { body })).body
    expect((await send(call, rich, { address: VICTIM, amount: 7 })).body.status).toBe('invited')
    const agent = await newAgent(call, { email: VICTIM, account: String(account.id) })
    expect((await call('GET', '/v4/agent/account', { token: agent.accessToken })).body.account.id).toBe(account.id)
    const state = (await call('GET', '/_sandbox/snapshot')).body
    const unproven = state.rows.users.map((row: any) =>
      row.id === user.id ? { ...row, email_verified_at: null } : row,
    )
    const restored = { ...state, rows: { ...state.rows, users: unproven } }
    expect((await call('PUT', '/_sandbox/snapshot', { body: restored })).status).toBeLessThan(300)
    const before = (await call('GET', '/v4/agent/account', { token: agent.accessToken })).body
    expect([before.account, before.choosable]).toEqual([null, false])
    const app = await newAgent(call, { email: VICTIM, account: String(account.id) })
    expect((await call('GET', '/v4/agent/account', { token: app.accessToken })).body.account.id).toBe(account.id)
  })

  it('keeps the credentials of the account', async () => {
    const { call } = await impostor('someone@example.test')
    const body = { dq: await defaultDq(call), email: VICTIM }
    const [, { client_id, client_secret }] = (await call('POST', '/v4/account/register', { body })).body.account.secrets
    await newSession(call, VICTIM)
    const token = await tokenFor(call, client_id, client_secret)
    expect((await call('GET', '/v4/account', { token })).status).toBe(200)
  })
})

describe('a sandbox', () => {
  it('keeps the credentials of a user whom the interface created, and logs that', async () => {
    const { call, fake } = await impostor()
    await newSession(call, VICTIM)
    expect((await call('GET', '/v4/twins', { token: fake.token })).status).toBe(200)
    expect(await tokenFor(call, fake.clientId, fake.clientSecret)).toBe(fake.token)
    const { events } = (await call('GET', '/v4/events?type=user.email_verified', { token: fake.token })).body
    expect(events).toMatchObject([{ actor: `user:${fake.id}`, data: { ended: [], account_ids: [] } }])
    await newSession(call, VICTIM)
    expect((await call('GET', '/v4/events?type=user.email_verified', { token: fake.token })).body.events).toHaveLength(
      1,
    )
    expect((await lastMail(call, VICTIM)).subject).toContain('sign-in code')
  })
})

describe('a session', () => {
  it.each(['/v4', '/v2'])("cannot read its user's client secrets at %s", async (version) => {
    const { call, fake } = await impostor()
    const session = await newSession(call, VICTIM)
    const byToken = (await call('POST', '/v4/session', { token: fake.token })).body.session_id
    for (const own of [session, byToken])
      for (const query of ['', `?email=${VICTIM}`]) {
        const read = await call('GET', `${version}/user/${fake.id}${query}`, { session: own })
        expect(read.status).toBe(200)
        expect(read.body).not.toHaveProperty('secrets')
        expect(read.text).not.toContain('mc_')
      }
    const { secrets } = (await call('GET', `${version}/user/${fake.id}`, { token: fake.token })).body
    expect(secrets[0].client_secret).toBe(fake.clientSecret)
  })

  it('cannot make client credentials before its user approves them with a second factor', async () => {
    const { call, fake } = await impostor()
    const session = await newSession(call, VICTIM)
    await call('POST', `/_sandbox/devices/${fake.id}`, { body: { mode: 'reject' } })
    expectProblem(await call('POST', '/v4/user/secrets', { session }), 403, 'rejected')
    expect((await call('GET', `/v4/user/${fake.id}`, { token: fake.token })).body.secrets).toHaveLength(1)
    await call('POST', `/_sandbox/devices/${fake.id}`, { body: { mode: 'approve' } })
    const made = await call('POST', '/v4/user/secrets', { session })
    expect(made.status).toBe(201)
    const [{ client_id, client_secret }] = made.body.secrets
    expect(await tokenFor(call, client_id, client_secret)).toMatch(/^tqmt_/)
    expect((await lastMail(call, VICTIM)).subject).toBe('New client credentials for your wallet')
  })

  it('cannot make client credentials for its user through an app, a page or an account', async () => {
    const { call, thief } = await impostor()
    const agent = await newAgent(call, { email: VICTIM })
    expectProblem(await call('POST', '/v4/user/secrets', { token: agent.accessToken }), 403, 'wrong_principal')
    expectProblem(await call('POST', '/v4/user/secrets', { token: thief.token }), 403, 'wrong_principal')
    expectProblem(await call('POST', '/v4/user/secrets'), 401, 'authorization_missing')
  })
})

describe('client credentials that leaked', () => {
  it('end with their tokens after their user makes new ones twice', async () => {
    const { call, fake } = await impostor()
    const make = async (token: string) => {
      const [made] = (await call('POST', '/v4/user/secrets', { token })).body.secrets
      return { ...made, token: await tokenFor(call, made.client_id, made.client_secret) }
    }
    const first = await make(fake.token)
    expect((await call('GET', '/v4/twins', { token: fake.token })).status).toBe(200)
    const second = await make(first.token)
    expectProblem(await call('GET', '/v4/twins', { token: fake.token }), 401, 'token_invalid')
    const again = await call('POST', '/v4/user/oauth/token', { headers: basic(fake.clientId, fake.clientSecret) })
    expectProblem(again, 401, 'client_unknown')
    for (const { token } of [first, second]) expect((await call('GET', '/v4/twins', { token })).status).toBe(200)
    await make(second.token)
    const shown = (await call('GET', `/v4/user/${fake.id}`, { token: second.token })).body.secrets
    expect(shown.filter(({ deleted_at }: any) => deleted_at === null)).toHaveLength(2)
    expect(shown).toHaveLength(3)
  })

  it('do not lead to newer ones, so whoever has them loses the wallet though they try without a pause', async () => {
    const { call, fake } = await impostor()
    await stopClock(call)
    const session = await newSession(call, VICTIM)
    await call('POST', `/_sandbox/devices/${fake.id}`, { body: { mode: 'approve' } })
    const KEY = { 'idempotency-key': 'rotate' }
    const stolen = new Map([[fake.clientId, fake.clientSecret as string]])
    /** Reads and creates what they can with all that they have. */
    const steal = async () => {
      for (const [id, secret] of [...stolen]) {
        const token = await tokenFor(call, id, secret)
        if (token === undefined) continue
        const seen = [
          (await call('GET', `/v4/user/${fake.id}`, { token })).body,
          (await call('POST', '/v4/user/secrets', { token, headers: KEY })).body,
          (await call('POST', '/v4/user/secrets', { token })).body,
        ].flatMap(({ secrets }) => secrets ?? [])
        for (const { client_id, client_secret } of seen)
          if (client_secret !== null) stolen.set(client_id, client_secret)
      }
    }
    const rotate = async () => {
      const made = await call('POST', '/v4/user/secrets', { session, headers: KEY })
      expect(made.status, made.text).toBe(201)
      return made.body.secrets[0]
    }
    await steal()
    expect(stolen.size).toBeGreaterThan(1)
    const first = await rotate()
    await steal()
    KEY['idempotency-key'] = 'rotate again'
    const second = await rotate()
    await steal()
    for (const [id, secret] of stolen) expect(await tokenFor(call, id, secret)).toBeUndefined()
    for (const { client_id, client_secret } of [first, second])
      expect(await tokenFor(call, client_id, client_secret)).toMatch(/^tqmt_/)
  })

  it('are made once and shown again under one Idempotency-Key', async () => {
    const { call, fake } = await impostor()
    const headers = { 'idempotency-key': 'new-secrets' }
    const answers = [1, 2].map(() => call('POST', '/v4/user/secrets', { token: fake.token, headers }))
    const [first, second] = [await answers[0], await answers[1]]
    const done = [first, second].filter((answer) => answer?.status === 201)
    expect(done.length).toBeGreaterThan(0)
    expect((await call('POST', '/v4/user/secrets', { token: fake.token, headers })).text).toBe(done[0]?.text)
    expect((await call('GET', `/v4/user/${fake.id}`, { token: fake.token })).body.secrets).toHaveLength(2)
  })
})

describe('a code', () => {
  it('proves nothing if it is wrong, used or from another session', async () => {
    const { call, fake, rich } = await impostor()
    const session = await newGuest(call)
    await askCode(call, session, VICTIM)
    const code = await mailedCode(call, VICTIM)
    expectProblem(await verify(call, await newGuest(call), VICTIM, code), 401, 'session_required')
    expectProblem(await verify(call, session, VICTIM, '12345'), 401, 'code_wrong')
    expect((await send(call, rich, { address: VICTIM, amount: 1 })).body.status).toBe('invited')
    expect(await walletOf(call, fake)).toBe(0)
  })

  it('proves the address once and delivers once, even if two are entered at the same time', async () => {
    const { call, fake, rich } = await impostor()
    await send(call, rich, { address: VICTIM, amount: 7 })
    const readers = []
    for (let n = 0; n < 3; n++) {
      const session = await newGuest(call)
      await askCode(call, session, VICTIM)
      readers.push({ session, code: await mailedCode(call, VICTIM) })
    }
    const all = [...readers, ...readers].map(({ session, code }) => verify(call, session, VICTIM, code))
    const statuses = (await Promise.all(all)).map(({ status }) => status).sort()
    expect(statuses).toEqual([200, 200, 200, 410, 410, 410])
    expect(await walletOf(call, fake)).toBe(7)
    expect((await call('GET', '/v4/events?type=user.email_verified', { token: fake.token })).body.events).toHaveLength(
      1,
    )
    await expectSoundLedger(call)
  })

  it('neither loses nor doubles value if transfers are sent and cancelled meanwhile', async () => {
    const { call, fake, rich } = await impostor()
    const waiting = []
    for (let n = 0; n < 3; n++) waiting.push((await send(call, rich, { address: VICTIM, amount: 1 })).body.id)
    const session = await newGuest(call)
    await askCode(call, session, VICTIM)
    const code = await mailedCode(call, VICTIM)
    const done = await Promise.all([
      ...waiting.slice(0, 2).map((id) => call('POST', `/v4/transfers/${id}/cancel`, rich)),
      send(call, rich, { address: VICTIM, amount: 1 }),
      verify(call, session, VICTIM, code),
      ...waiting.slice(2).map((id) => call('POST', `/v4/transfers/${id}/cancel`, rich)),
      send(call, rich, { address: VICTIM, amount: 1 }),
    ])
    const back = done.filter(({ status, body }) => status === 200 && body.status === 'cancelled').length
    expect(await walletOf(call, fake)).toBe(5 - back)
    expect(await walletOf(call, rich)).toBe(50 - (5 - back))
    expect((await expectSoundLedger(call)).digital_quantities[0].held).toBe(0)
  })
})
