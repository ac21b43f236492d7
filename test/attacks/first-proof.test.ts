import { describe, expect, it } from 'vitest'
import {
  approveByMail,
  mailTo,
  type Production,
  readCode,
  rejectByMail,
  signInByMail,
  startProduction,
} from '../support/production.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { authorizeApp, exchangeCode, newAgent, newApp, refreshWith, startInteraction } from '../support/scenes/oidc.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { ask, poll, registerDevice } from '../support/scenes/second-factor.js'
import { newGuest, verify } from '../support/scenes/sign-in.js'
import { send, walletOf } from '../support/scenes/transfers.js'
import { basic, defaultDq, newCommodity, newPayer, newSeller, type Payer } from '../support/scenes/world.js'

/** A service that is no sandbox, where someone made a user for a victim's address and the victim then signs in. */

const VICTIM = 'victim@example.test'

async function impostor() {
  const production = startProduction()
  const { call, operate } = production
  const thief = await newSeller(call)
  const fake = await newPayer(call, thief, { email: VICTIM })
  const rich = await newPayer(call, await newSeller(call), { email: 'rich@example.test' })
  await operate('POST', '/_sandbox/fund', { body: { hostname: rich.hostname, amount: 50 } })
  const proves = () => signInByMail(production, VICTIM)
  return { ...production, production, thief, fake, rich, proves }
}

const bySession = async ({ call }: Pick<Production, 'call'>, token: string): Promise<string> =>
  (await call('POST', '/v4/session', { token })).body.session_id

describe('the mail of the first proof', () => {
  it('tells of sessions of an impostor, though the newest one has ended', async () => {
    const { production, call, operate, thief, fake, proves } = await impostor()
    const { hash } = await newCommodity(operate, thief)
    const [, ended] = [await bySession({ call }, fake.token), await bySession({ call }, fake.token)]
    const body = { hash, origin: 'https://shop.example.test' }
    expect((await call('POST', '/v4/session/page', { session: ended, body })).status).toBe(201)
    // The page session is dead with it, and is removed later.
    expect((await call('DELETE', '/v4/session', { session: ended })).status).toBe(204)
    await proves()
    expect((await mailTo(production, VICTIM, /now confirmed/)).text).toContain('all sessions')
  })
})

describe('after the owner first signs in, what an impostor created', () => {
  it('includes no working access token, refresh token or client secret', async () => {
    const { call, fake, rich, proves } = await impostor()
    const made = await call('POST', '/v4/user/secrets', { token: fake.token })
    const { client_id, client_secret } = made.body.secrets[0]
    const asked = await call('POST', '/v4/user/oauth/token', { headers: basic(client_id, client_secret) })
    await send(call, rich, { address: VICTIM, amount: 7 })
    const session = await proves()
    expect(await walletOf(call, { session })).toBe(7)
    for (const token of [fake.token, asked.body.access_token]) {
      expectProblem(await call('GET', '/v4/twins', { token }), 401, 'token_invalid')
      expectProblem(await send(call, { token }, { address: rich.hostname, amount: 7 }), 401, 'token_invalid')
      expectProblem(await call('POST', '/v4/session', { token }), 401, 'token_invalid')
    }
    const path = '/v4/user/oauth/token'
    const headers = { authorization: `Bearer ${asked.body.refresh_token}` }
    expectProblem(await call('POST', path, { headers }), 401, 'refresh_token_invalid')
    for (const [id, secret] of [
      [fake.clientId, fake.clientSecret],
      [client_id, client_secret],
    ] as const)
      expectProblem(await call('POST', path, { headers: basic(id, secret) }), 401, 'client_unknown')
  })

  it('includes no session from a token and no page session', async () => {
    const { call, fake, thief, proves, production } = await impostor()
    const { hash } = await newCommodity(call, thief)
    const own = await bySession(production, fake.token)
    const body = { hash, origin: 'https://shop.example.test' }
    const page = (await call('POST', '/v4/session/page', { session: own, body })).body.session_id
    const owner = await proves()
    for (const session of [own, page]) {
      expectProblem(await call('GET', '/v4/twins', { session }), 401, 'sign_in_required')
      expect((await call('GET', '/v4/session', { session })).body.user).toBeNull()
    }
    expect((await call('GET', '/v4/sessions', { session: owner })).body.sessions).toHaveLength(1)
  })

  it('includes no app that acts, refreshes or returns without a new consent', async () => {
    const { call, fake, proves, production } = await impostor()
    const app = await newApp(call)
    const own = await bySession(production, fake.token)
    const agent = await newAgent(call, { app, session: own })
    const unused = await authorizeApp(call, app, { session: own })
    const session = await proves()
    expect((await call('GET', '/v4/agent/account', { token: agent.accessToken })).status).toBe(401)
    expect((await call('POST', '/mcp', { token: agent.accessToken, body: {} })).status).toBe(401)
    expect((await refreshWith(call, app, agent.refreshToken)).body.error).toBe('invalid_grant')
    expect((await exchangeCode(call, app, unused.code)).body.error).toBe('invalid_grant')
    expect((await call('GET', '/v4/connections', { session })).body.connections).toEqual([])
    const again = await startInteraction(call, app)
    expect((await call('GET', again, { session })).text).toContain('Allow')
  })

  it('includes no delegate that spends from the twin or verifies', async () => {
    const { call, fake, thief, rich, proves } = await impostor()
    const dq = await defaultDq(call)
    const persona = await newPersona(call, fake)
    const limit = { dq, limit: 100 }
    const hostname = (await call('POST', '/v4/twin', { token: thief.token, body: { dq } })).body.hostname
    const given = []
    for (const party of [{ client_id: thief.clientId }, { public_secret: thief.publicSecret }]) {
      const spend = { party, ...limit }
      given.push(await newDelegate(call, fake, { persona: persona.hash, hostname, spend }))
    }
    await newDelegate(call, fake, { persona: persona.hash, hostname })
    await send(call, rich, { address: VICTIM, amount: 7 })
    const session = await proves()
    const order = { amount: 5, destination: hostname }
    const byAccount = { ...order, persona_delegate: given[0]?.hash }
    expectProblem(await call('POST', '/v4/paywall', { token: thief.token, body: byAccount }), 403, 'delegate_refused')
    const byPage = { ...order, persona_delegate: given[1]?.hash, public_secret: thief.publicSecret }
    expectProblem(await call('POST', '/v4/paywall', { body: byPage }), 403, 'delegate_refused')
    const { delegates } = (await call('GET', `/v4/persona/${persona.hash}/delegates`, { session })).body
    expect(delegates.filter(({ revoked_at }: any) => revoked_at === null)).toEqual([])
    expect(await walletOf(call, { session })).toBe(7)
  })

  it('includes no device that answers for the owner or locks them out', async () => {
    const { call, fake, rich, proves, production } = await impostor()
    await registerDevice(call, { token: fake.token })
    await send(call, rich, { address: VICTIM, amount: 7 })
    const session = await proves()
    expect((await call('GET', '/v4/notifications/registrations', { session })).body.registrations).toEqual([])
    const sending = send(call, { session }, { address: rich.hostname, amount: 1 })
    await approveByMail(production, VICTIM)
    expect((await sending).status).toBe(201)
  })

  it('includes no waiting approval that spends the delivered value', async () => {
    const { call, fake, rich, thief, proves, production, operate } = await impostor()
    await operate('POST', '/_sandbox/fund', { body: { hostname: fake.hostname, amount: 7 } })
    await send(call, rich, { address: VICTIM, amount: 7 })
    const { hostname } = (await call('POST', '/v4/twin', { token: thief.token, body: { dq: await defaultDq(call) } }))
      .body
    await registerDevice(call, { token: fake.token })
    const own = await bySession(production, fake.token)
    const sending = send(call, { session: own }, { address: hostname, amount: 7 })
    const pending = () => call('GET', '/v4/events?type=second_factor.requested', { token: fake.token })
    await expect.poll(async () => (await pending()).body.events.length).toBe(1)
    const session = await proves()
    expectProblem(await sending, 403, 'rejected')
    expect(await walletOf(call, { session })).toBe(14)
  })

  it("includes no threshold that lets the owner's apps pay without an approval", async () => {
    const { call, fake, proves } = await impostor()
    const dq = await defaultDq(call)
    const body = { approval_threshold: { [dq]: 100 } }
    expect((await call('PUT', '/v4/agent/settings', { token: fake.token, body })).status).toBe(200)
    const session = await proves()
    expect((await call('GET', '/v4/agent/settings', { session })).body.approval_threshold).toEqual({})
  })

  it('includes no approval that stands for later payments', async () => {
    const { call, fake, thief, proves, production, operate } = await impostor()
    await operate('POST', '/_sandbox/fund', { body: { hostname: fake.hostname, amount: 7 } })
    const dq = await defaultDq(call)
    const { hostname } = (await call('POST', '/v4/twin', { token: thief.token, body: { dq } })).body
    await registerDevice(call, { token: fake.token })
    const pay = (session: string) =>
      call('POST', '/v3/paywall', {
        session,
        body: { paymentTypeHash: dq, amount: 1, destinationUrl: hostname },
      })
    const paying = pay(await bySession(production, fake.token))
    const path = '/v3/paywall/authorizations'
    const asked = async () => (await call('GET', path, { token: fake.token })).body.authorizations
    await expect.poll(async () => (await asked()).length).toBe(1)
    const body = { authorizationId: (await asked())[0].id, approved: true }
    expect((await call('PUT', path, { token: fake.token, body })).status).toBe(200)
    expect((await paying).status).toBe(200)
    expect((await pay(await bySession(production, fake.token))).status).toBe(200)
    const session = await proves()
    const again = pay(session)
    // It waits for the owner, who rejects it.
    await rejectByMail(production, VICTIM)
    expectProblem(await again, 408, 'payment_denied')
    expect(await walletOf(call, { session })).toBe(5)
  })

  it('includes no nonce that proves control of the twin', async () => {
    const { call, fake, proves } = await impostor()
    const body = { hostname: fake.hostname }
    const { nonce } = (await call('POST', '/v2/twin/nonce', { token: fake.token, body })).body
    await proves()
    const proof = { body: { ...body, nonce }, token: (await newSeller(call)).token }
    expectProblem(await call('PUT', '/v2/twin/nonce', proof), 400, 'twin_nonce_refused')
  })

  it('includes no cart of a planted session', async () => {
    const { call, fake, production } = await impostor()
    const planted = await bySession(production, fake.token)
    const cart = (await call('POST', '/v4/carts', { session: planted })).body
    const code = await readCode(production, planted, VICTIM)
    const signedIn = await verify(call, planted, VICTIM, code)
    const session = signedIn.body.session_id
    expectProblem(await call('GET', `/v4/carts/${cart.id}`, { session }), 404, 'not_found')
  })
})

describe('the owner', () => {
  it('gets one mail about what ended and what to do', async () => {
    const { call, fake, proves, production, mails } = await impostor()
    await bySession(production, fake.token)
    await registerDevice(call, { token: fake.token })
    const session = await proves()
    const mail = await mailTo(production, VICTIM, /is confirmed/)
    expect(mail.text).toContain('no longer works: 1 client credential, all sessions, 1 device.')
    expect(mail.text).toContain('/v4/user/secrets')
    const { events } = (await call('GET', '/v4/events?type=user.email_verified', { session })).body
    expect(events).toMatchObject([{ data: { ended: ['1 client credential', 'all sessions', '1 device'] } }])
    await proves()
    expect(mails.filter(({ subject }) => subject === mail.subject)).toHaveLength(1)
  })

  it('is told how many requests and approvals ended, and nobody else loses theirs', async () => {
    const { call, fake, rich, thief, proves, production, operate } = await impostor()
    await operate('POST', '/_sandbox/fund', { body: { hostname: fake.hostname, amount: 7 } })
    const { hostname, dq } = await newCommodity(call, thief)
    const order = { paymentTypeHash: dq, amount: 1, destinationUrl: hostname }
    const pay = (session: string) => call('POST', '/v3/paywall', { session, body: order })
    /** Approves later payments, and leaves a request in each state. */
    const plant = async ({ token, email }: Payer) => {
      const paying = pay(await bySession(production, token))
      await approveByMail(production, email)
      expect((await paying).status).toBe(200)
      const ids: number[] = []
      for (const n of [0, 1, 2]) ids.push((await ask(call, { token }, { action: 'paywall', detail: { n } })).body.id)
      for (const n of [1, 2]) {
        const body = { authorizationId: ids[n], approved: n === 1 }
        expect((await call('PUT', '/v3/paywall/authorizations', { token, body })).status).toBe(200)
      }
      return ids
    }
    const others = await plant(rich)
    await plant(fake)
    const session = await proves()
    const { events } = (await call('GET', '/v4/events?type=user.email_verified', { session })).body
    const ended = ['2 open requests', '1 approval of later payments']
    expect(events[0].data.ended).toEqual(expect.arrayContaining(ended))
    const rejected = (await call('GET', '/v4/events?type=second_factor.rejected', { session })).body.events
    expect(rejected.map(({ data }: { data: { by: string } }) => data.by).sort()).toEqual([
      'service',
      'service',
      'token',
    ])
    const statuses = []
    for (const id of others) statuses.push((await poll(call, rich, id)).body.status)
    expect(statuses).toEqual(['pending', 'approved', 'rejected'])
    expect((await pay(await bySession(production, rich.token))).status).toBe(200)
  })

  it('keeps what they created when they sign in again', async () => {
    const { call, proves, production } = await impostor()
    const session = await proves()
    const making = call('POST', '/v4/user/secrets', { session })
    await approveByMail(production, VICTIM)
    const [{ client_id, client_secret }] = (await making).body.secrets
    const app = await newAgent(call, { session })
    await proves()
    const headers = basic(client_id, client_secret)
    expect((await call('POST', '/v4/user/oauth/token', { headers })).status).toBe(200)
    expect((await call('GET', '/v4/agent/account', { token: app.accessToken })).status).toBe(200)
    expect((await call('GET', '/v4/twins', { session })).status).toBe(200)
  })

  it('learns that others have the credentials of an account that was registered with their address', async () => {
    const { call, production } = await impostor()
    const body = { dq: await defaultDq(call), email: 'owner@example.test' }
    const { account } = (await call('POST', '/v4/account/register', { body })).body
    await signInByMail(production, 'owner@example.test')
    const { text } = await mailTo(production, 'owner@example.test', /is confirmed/)
    expect(text).toContain(`Account ${account.id} was registered with this address`)
    expect(text).not.toContain('no longer works')
  })
})

describe('a state that an older version wrote', () => {
  /** Without what this version added to users. */
  const aged = async ({ reopen }: Production) =>
    reopen(({ counters, rows }) => {
      const users = (rows.users ?? []).map((row) => ({ ...row, email_verified_at: undefined }))
      return JSON.parse(JSON.stringify({ counters, rows: { ...rows, users } }))
    })

  it('delivers nothing to a user whom an account created until a code is entered', async () => {
    const { call, production, fake, rich, proves } = await impostor()
    await aged(production)
    expect((await send(call, rich, { address: VICTIM, amount: 7 })).body.status).toBe('invited')
    const session = await proves()
    expect(await walletOf(call, { session })).toBe(7)
    expectProblem(await call('GET', '/v4/twins', { token: fake.token }), 401, 'token_invalid')
  })

  it('still delivers to a user who signed up with a code, and ends nothing of theirs', async () => {
    const { call, production, rich } = await impostor()
    const session = await signInByMail(production, 'ada@example.test')
    const agent = await newAgent(call, { session })
    await aged(production)
    expect((await send(call, rich, { address: 'ada@example.test', amount: 7 })).body.status).toBe('completed')
    await signInByMail(production, 'ada@example.test')
    expect((await call('GET', '/v4/agent/account', { token: agent.accessToken })).status).toBe(200)
    expect((await call('GET', '/v4/twins', { session })).status).toBe(200)
  })
})

describe('calls of an impostor that run while the owner signs in', () => {
  it('cannot take the delivered value, however many there are', async () => {
    const { call, operate, fake, rich, thief, production } = await impostor()
    const { hostname } = (await call('POST', '/v4/twin', { token: thief.token, body: { dq: await defaultDq(call) } }))
      .body
    await send(call, rich, { address: VICTIM, amount: 7 })
    const session = await newGuest(call)
    const code = await readCode(production, session, VICTIM)
    const steal = () => send(call, { token: fake.token }, { address: hostname, amount: 7 })
    const before = Array.from({ length: 20 }, steal)
    const verified = verify(call, session, VICTIM, code)
    const stolen = await Promise.all([...before, ...Array.from({ length: 20 }, steal)])
    const own = (await verified).body.session_id
    expect(stolen.filter(({ status }) => status < 400)).toEqual([])
    expect(await walletOf(call, { session: own })).toBe(7)
    await expectSoundLedger(operate)
  })
})
