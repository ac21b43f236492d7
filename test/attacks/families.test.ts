import { describe, expect, it, onTestFinished, test } from 'vitest'
import { type ApprovalRow, approvals } from '../../src/consent/approvals/approval.js'
import { type OidcClientRow, oidcClients } from '../../src/consent/oidc/clients/client.js'
import { type ConnectionRow, oidcConnections } from '../../src/consent/oidc/connection.js'
import { oidcCodes } from '../../src/consent/oidc/token.js'
import { type DelegateRow, delegates } from '../../src/consent/personas/delegate.js'
import { listAuthorizations } from '../../src/consent/second-factor/answer.js'
import {
  type AuthenticationRequestRow,
  authenticationRequests,
  findRequest,
} from '../../src/consent/second-factor/request.js'
import {
  isApprovedBefore,
  type StandingApprovalRow,
  standingApprovals,
} from '../../src/consent/second-factor/standing-approval.js'
import { type SessionRow, sessions } from '../../src/identity/sessions/session.js'
import { tokens } from '../../src/identity/tokens/token.js'
import { users } from '../../src/identity/users/user.js'
import { createService } from '../../src/index.js'
import { type TwinNonceRow, twinNonces } from '../../src/money/twins/twin.js'
import { type Call, caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import {
  connected,
  copiedSession,
  earlierId,
  flood,
  floodSessions,
  floodTokens,
  measured,
  proves,
  rowsOf,
  type Started,
  started,
  VICTIM,
} from '../support/scenes/families.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import { authorizeApp, exchangeCode, newAgent, newApp, refreshWith } from '../support/scenes/oidc.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { basic, defaultDq, newCommodity, newPayer, newSeller, newSession } from '../support/scenes/world.js'

/** Ends a family of this many, and checks that it has ended. Returns what is counted. */
type Way = (run: Started, count: number) => Promise<{ read: number; written: number }>

const isDead = async (call: Call, token: string) =>
  expect((await call('GET', '/v4/agent/account', { token })).status).toBe(401)

const ways: Record<string, Way> = {
  async 'the first sign-in at an address, by the sessions that others started'(run, count) {
    // No credential ends these, only the generation.
    await floodSessions(run, count, { by: 'code', client_id: null })
    const dead = [run.session, copiedSession(1), copiedSession(count)]
    for (const session of dead) expect((await run.call('GET', '/v4/twins', { session })).status).toBe(200)
    const { work, session } = await proves(run)
    for (const session of dead) expectProblem(await run.call('GET', '/v4/twins', { session }), 401, 'sign_in_required')
    expect((await run.call('GET', '/v4/sessions', { session })).body.sessions).toHaveLength(1)
    return work
  },

  async 'signing out, by the page sessions that came from the session'(run, count) {
    const { hash } = await newCommodity(run.call, run.seller)
    const body = { hash, origin: 'https://shop.example.test' }
    const page = (await run.call('POST', '/v4/session/page', { session: run.session, body })).body.session_id
    await floodSessions(run, count)
    const work = await measured(run, async () => {
      expect((await run.call('DELETE', '/v4/session', { session: run.session })).status).toBe(204)
    })
    expect((await run.call('GET', '/v4/session', { session: page })).body.user).toBeNull()
    return work
  },

  async 'the reuse of a refresh token, by the tokens of its family'(run, count) {
    const { app, agent } = await connected(run)
    const next = await refreshWith(run.call, app, agent.refreshToken)
    await floodTokens(run, count)
    const work = await measured(run, async () => {
      expect((await refreshWith(run.call, app, agent.refreshToken)).body.error).toBe('invalid_grant')
    })
    await isDead(run.call, next.body.access_token)
    expect((await refreshWith(run.call, app, next.body.refresh_token)).body.error).toBe('invalid_grant')
    return work
  },

  async 'the reuse of a code, by the tokens of its family'(run, count) {
    const { app, agent } = await connected(run)
    await floodTokens(run, count)
    const work = await measured(run, async () => {
      expect((await exchangeCode(run.call, app, agent.code)).body.error).toBe('invalid_grant')
    })
    await isDead(run.call, agent.accessToken)
    return work
  },

  async 'disconnecting an app, by its tokens, its codes and the approvals of its requests'(run, count) {
    const { app, agent } = await connected(run)
    const unused = await authorizeApp(run.call, app, { session: run.session })
    await floodTokens(run, count)
    const [code] = await rowsOf<any>(run, oidcCodes)
    await run.inner.write(async (tx) => {
      for (let n = 0; n < count; n++) tx.put(oidcCodes, { ...code, id: `c${n}` })
      for (let n = 0; n < count + 100; n++) tx.put(approvals, approvalOf(code.connection_id, n))
    })
    const { connections } = (await run.call('GET', '/v4/connections', { session: run.session })).body
    const path = `/v4/connections/${connections[0].id}`
    const work = await measured(run, async () => {
      expect((await run.call('DELETE', path, { session: run.session })).status).toBe(204)
    })
    await isDead(run.call, agent.accessToken)
    expect((await exchangeCode(run.call, app, unused.code)).body.error).toBe('invalid_grant')
    expect((await refreshWith(run.call, app, agent.refreshToken)).body.error).toBe('invalid_grant')
    return work
  },

  async 'the first sign-in at an address, by the apps that others connected'(run, count) {
    const { app, agent } = await connected(run)
    await flood<OidcClientRow>(run, count, oidcClients, (n) => ({ id: `app ${n}` }))
    await flood<ConnectionRow>(run, count, oidcConnections, (n) => ({ ...earlierId(n), client_id: `app ${n}` }))
    const unused = await authorizeApp(run.call, app, { session: run.session })
    const { work, session } = await proves(run)
    await isDead(run.call, agent.accessToken)
    expect((await refreshWith(run.call, app, agent.refreshToken)).body.error).toBe('invalid_grant')
    expect((await exchangeCode(run.call, app, unused.code)).body.error).toBe('invalid_grant')
    expect((await run.call('GET', '/v4/connections', { session })).body.connections).toEqual([])
    const [{ id }] = (await rowsOf<ConnectionRow>(run, oidcConnections)).slice(-1) as [ConnectionRow]
    expectProblem(await run.call('DELETE', `/v4/connections/${id}`, { session }), 404, 'not_found')
    // The owner may connect the same app, which then gets nothing back of what was before.
    const again = await newAgent(run.call, { app, session })
    expect((await run.call('GET', '/v4/agent/account', { token: again.accessToken })).status).toBe(200)
    await isDead(run.call, agent.accessToken)
    return work
  },

  async 'the first sign-in at an address, by the delegates that others gave'(run, count) {
    const { call, seller, user } = run
    const { hash: persona, twinId } = await newPersona(call, user)
    const dq = await defaultDq(call)
    const { hash } = await newCommodity(call, seller)
    const given = await newDelegate(call, { token: user.token }, { persona, hostname: user.hostname })
    const spend = { party: { client_id: seller.clientId }, dq, limit: '9000000', period: null, expires_at: null }
    await flood<DelegateRow>(run, count, delegates, (n) => ({ id: `0 ${n}`, number: -n, issue: n + 1 }))
    await run.inner.write(async (tx) => {
      const row = await tx.get(delegates, given.hash)
      if (row) tx.put(delegates, { ...row, spend })
    })
    const pay = () =>
      call('POST', `/v4/payment/${hash}`, { token: seller.token, body: { persona_delegate: given.hash } })
    expect((await pay()).body.code).not.toBe('delegate_refused')
    const { work, session } = await proves(run)
    expectProblem(await pay(), 403, 'delegate_refused')
    const path = `/v4/persona/${persona}/verify?twin_id=${twinId}`
    expect((await call('GET', path, { session })).body).toMatchObject({ status: 404, instances: [] })
    expect((await call('GET', '/v4/persona/delegates', { session })).body).toEqual({})
    const own = `/v4/persona/${persona}/delegates`
    const shown = (await call('GET', `${own}?limit=100`, { session })).body.delegates
    expect(shown).toHaveLength(100)
    for (const { revoked_at } of shown) expect(revoked_at).not.toBeNull()
    expectProblem(await call('DELETE', `${own}/${given.hash}`, { session }), 404, 'not_found')
    return work
  },

  async 'the first sign-in at an address, by the requests that others made and approved'(run, count) {
    const { call, user } = run
    const body = { action: 'launch', detail: {} }
    const path = '/v4/authentication-requests'
    const { id } = (await call('POST', path, { token: user.token, body })).body
    const later = Date.now() + 100_000
    const copies = { action: 'paywall', expires_at: later }
    const change: Partial<AuthenticationRequestRow>[] = [
      { ...copies, pending_until: later },
      { ...copies, status: 'approved', pending_until: null, answered_at: Date.now(), spendable_until: later },
    ]
    await flood<AuthenticationRequestRow>(run, count, authenticationRequests, (n) => ({
      ...earlierId(n),
      ...change[n % 2],
    }))
    const { work, session } = await proves(run)
    expect((await call('GET', `${path}/${id}`, { session })).body.status).toBe('rejected')
    const { authorizations } = await run.inner.read((tx) =>
      listAuthorizations(tx, user.id, { at: Date.now(), limit: 100 }),
    )
    expect(new Set(authorizations.map(({ status }) => status))).toEqual(new Set(['denied']))
    for (const id of [-count, 1 - count])
      expect((await run.inner.read((tx) => findRequest(tx, id)))?.status).toBe('rejected')
    // They leave room for the requests of the owner.
    expect((await call('POST', path, { session, body })).status).toBe(201)
    return work
  },

  async 'the first sign-in at an address, by the approvals of later payments that others gave'(run, count) {
    const dq = await defaultDq(run.call)
    const row = async (n: number): Promise<StandingApprovalRow> => ({
      ...{ id: `${run.user.id}:${n}:${dq}`, user_id: run.user.id, payee_twin_id: n, dq, amount: '5', generation: 0 },
      ...{ request_id: n, created_at: Date.now(), expires_at: Date.now() + 1e9 },
    })
    await run.inner.write(async (tx) => {
      for (let n = 1; n <= count; n++) tx.put(standingApprovals, await row(n))
    })
    const payment = { payee_twin_id: count, dq, amount: '5' }
    const isApproved = () => run.inner.read((tx) => isApprovedBefore(tx, run.user.id, payment, Date.now()))
    expect(await isApproved()).toBe(true)
    const { work } = await proves(run)
    expect(await isApproved()).toBe(false)
    return work
  },

  async 'the first sign-in at an address, by the nonces of its twins'(run, count) {
    const { call, user } = run
    const { hostname } = user
    const { nonce } = (await call('POST', '/v2/twin/nonce', { token: user.token, body: { hostname } })).body
    await flood<TwinNonceRow>(run, count, twinNonces, (n) => ({ id: `nonce ${n}` }))
    const { work, session } = await proves(run)
    const verified = (nonce: string) =>
      call('PUT', '/v2/twin/nonce', { token: run.seller.token, body: { hostname, nonce } })
    expectProblem(await verified(nonce), 400, 'twin_nonce_refused')
    const own = (await call('POST', '/v2/twin/nonce', { session, body: { hostname } })).body
    expect((await verified(own.nonce)).status).toBe(200)
    return work
  },

  async 'deleting an app, by the users who connected it'(run, count) {
    const { app, agent } = await connected(run)
    const unused = await authorizeApp(run.call, app, { session: run.session })
    await run.inner.write(async (tx) => {
      const user = await tx.get(users, run.user.id)
      for (let n = 1; n <= count; n++)
        if (user) tx.put(users, { ...user, id: 1_000_000 + n, email: `user${n}@example.test` })
    })
    await flood<ConnectionRow>(run, count, oidcConnections, (n) => ({ ...earlierId(n), user_id: 1_000_000 + n }))
    const path = `/v4/oidc/reg/${app.id}`
    const work = await measured(run, async () => {
      expect((await run.call('DELETE', path, { token: app.registrationToken })).status).toBe(204)
    })
    await isDead(run.call, agent.accessToken)
    expect((await refreshWith(run.call, app, agent.refreshToken)).body.error).toBe('invalid_client')
    expect((await exchangeCode(run.call, app, unused.code)).body.error).toBe('invalid_client')
    expect((await run.call('GET', path, { token: app.registrationToken })).status).toBe(401)
    expect((await run.call('GET', '/v4/connections', { session: run.session })).body.connections).toEqual([])
    return work
  },
}

/** An approved request that nobody has spent. */
const approvalOf = (connection_id: number, n: number) =>
  ({
    ...{
      id: `approval ${String(n).padStart(6, '0')}`,
      connection_id,
      user_id: 1,
      client_id: 'app',
      status: 'approved',
    },
    ...{ kind: 'purchase', detail: {}, summary: '', created_at: 0, expires_at: 8e12, spent_at: null, binding: '' },
  }) as unknown as ApprovalRow

const many = howMuch(2000, 5000)

describe.each(Object.entries(ways))('%s', (_, way) => {
  it(`reads and writes as many rows with ${many} as with 500`, async () => {
    const few = await way(await started(), 500)
    const more = await way(await started(), many)
    // Deliveries in the background read and write a few rows at the same time.
    expect(more.read).toBeLessThan(few.read + 20)
    expect(more.written).toBeLessThan(few.written + 20)
  })
})

test('a user has at most 100 sessions of one kind, and those of programs end none that a code started', async () => {
  const run = await started()
  await floodSessions(run, 1, { by: 'code' })
  let last = ''
  for (let n = 0; n < 104; n++)
    last = (await run.call('POST', '/v4/session', { token: run.user.token })).body.session_id
  const found = await rowsOf<SessionRow>(run, sessions)
  expect(found.filter(({ by }) => by === 'token')).toHaveLength(100)
  expect(found.filter(({ by }) => by === 'code')).toHaveLength(1)
  expect((await run.call('GET', '/v4/session', { session: run.session })).body.user).toBeNull()
  expect((await run.call('GET', '/v4/session', { session: last })).body.user.email).toBe(VICTIM)
})

test('a client has at most 50 pairs of tokens, however often it refreshes', async () => {
  const run = await started()
  let pair = (
    await run.call('POST', '/v4/user/oauth/token', { headers: basic(run.user.clientId, run.user.clientSecret) })
  ).body
  for (let n = 0; n < 60; n++) {
    const headers = { authorization: `Bearer ${pair.refresh_token}` }
    pair = (await run.call('POST', '/v4/user/oauth/token', { headers })).body
  }
  expect((await rowsOf<any>(run, tokens)).filter(({ owner_kind }) => owner_kind === 'user')).toHaveLength(50)
  expect((await run.call('GET', '/v4/twins', { token: pair.access_token })).status).toBe(200)
})

test('a program that refreshes again and again ends no pair of another one that has not refreshed', async () => {
  const service = createService({ sandbox: true, log: { error: () => {} } })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  const user = await newPayer(call, await newSeller(call))
  await stopClock(call)
  const pairOf = async (headers: Record<string, string>) =>
    (await call('POST', '/v4/user/oauth/token', { headers })).body
  const refreshed = ({ refresh_token }: { refresh_token: string }) =>
    pairOf({ authorization: `Bearer ${refresh_token}` })
  const quiet = await pairOf(basic(user.clientId, user.clientSecret))
  // Until then both would get the same pair.
  await advance(call, '56m')
  let busy = await pairOf(basic(user.clientId, user.clientSecret))
  expect(busy.refresh_token).not.toBe(quiet.refresh_token)
  for (let n = 0; n < 60; n++) busy = await refreshed(busy)
  expect(await refreshed(quiet)).toMatchObject({ access_token: expect.any(String) })
})

test('families that ended days ago count no more, so the tokens of other devices live on', async () => {
  const service = createService({ sandbox: true, log: { error: () => {} } })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  await stopClock(call)
  const app = await newApp(call)
  const endFamilies = async (count: number) => {
    const session = await newSession(call, VICTIM)
    for (let n = 0; n < count; n++) {
      const { code } = await authorizeApp(call, app, { session })
      await exchangeCode(call, app, code)
      expect((await exchangeCode(call, app, code)).body.error).toBe('invalid_grant')
    }
  }
  for (let day = 0; day < 3; day++) {
    await endFamilies(20)
    await advance(call, '26h')
  }
  const { accessToken } = await newAgent(call, { app, session: await newSession(call, VICTIM) })
  await endFamilies(1)
  expect((await service.sandbox.snapshot()).rows.oidc_connections).toMatchObject([
    { generation: 0, ended_families: [{ ended_at: Date.parse(service.sandbox.clock().now) }] },
  ])
  expect((await call('GET', '/v4/agent/account', { token: accessToken })).status).toBe(200)
})

test('many stolen families of one connection end all its tokens, and its row stays small', async () => {
  const run = await started()
  const { app } = await connected(run)
  for (let n = 0; n < 52; n++) {
    const { code } = await authorizeApp(run.call, app, { session: run.session })
    await exchangeCode(run.call, app, code)
    expect((await exchangeCode(run.call, app, code)).body.error).toBe('invalid_grant')
  }
  const [connection] = await rowsOf<any>(run, oidcConnections)
  expect(connection.generation).toBe(1)
  expect(connection.ended_families.length).toBeLessThanOrEqual(50)
  const fresh = await newAgent(run.call, { app, session: run.session })
  expect((await run.call('GET', '/v4/agent/account', { token: fresh.accessToken })).status).toBe(200)
})
