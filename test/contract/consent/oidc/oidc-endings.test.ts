import { expect, it } from 'vitest'
import type { Call } from '../../../support/api.js'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { advance, stopClock } from '../../../support/scenes/market.js'
import {
  type App,
  CALLBACK,
  claimsIn,
  exchangeCode,
  expectOAuthError,
  fill,
  locationOf,
  newAgent,
  newApp,
  newConfidentialApp,
  returned,
  startInteraction,
  worksAt,
} from '../../../support/scenes/oidc.js'
import { answerFromDevice, registerDevice } from '../../../support/scenes/second-factor.js'
import { newGuest } from '../../../support/scenes/sign-in.js'
import { basic, newPayer, newSeller, newSession } from '../../../support/scenes/world.js'

const isRegistered = async (call: Call, { id, registrationToken: token }: App): Promise<boolean> =>
  (await call('GET', `/v4/oidc/reg/${id}`, { token })).status === 200

const connectionsOf = async (call: Call, session: string) =>
  (await call('GET', '/v4/connections', { session })).body.connections

const disconnect = async (call: Call, session: string, app: App) => {
  const connections = await connectionsOf(call, session)
  const { id } = connections.find(({ client_id }: { client_id: string }) => client_id === app.id)
  expect((await call('DELETE', `/v4/connections/${id}`, { session })).status).toBe(204)
}

contract('an app that nobody uses', (start) => {
  it('is removed 30 days after its last user disconnected it, and not while another user has it', async () => {
    const { call } = await start()
    await stopClock(call)
    const app = await newApp(call)
    const [ada, eve] = [
      await newAgent(call, { app, email: 'ada@example.test' }),
      await newAgent(call, { app, email: 'eve@example.test' }),
    ]
    const other = await newAgent(call, { session: ada.session })
    await disconnect(call, ada.session, app)
    await advance(call, '31d')
    expect([await isRegistered(call, app), await isRegistered(call, other.app)]).toEqual([true, true])
    const session = await newSession(call, 'eve@example.test')
    expect(eve.app.id).toBe(app.id)
    await disconnect(call, session, app)
    await advance(call, '29d')
    expect(await isRegistered(call, app)).toBe(true)
    await advance(call, '2d')
    expect([await isRegistered(call, app), await isRegistered(call, other.app)]).toEqual([false, true])
  })

  it('lasts 30 days more when its registration is replaced, and one in use is not counted as unused', async () => {
    const { call } = await start()
    await stopClock(call)
    const [unused, used] = [await newApp(call), await newApp(call)]
    await newAgent(call, { app: used })
    await advance(call, '29d')
    for (const { id, registrationToken: token } of [unused, used]) {
      const body = { client_id: id, redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }
      expect((await call('PUT', `/v4/oidc/reg/${id}`, { token, body })).status).toBe(200)
    }
    await advance(call, '29d')
    expect([await isRegistered(call, unused), await isRegistered(call, used)]).toEqual([true, true])
    await advance(call, '2d')
    expect([await isRegistered(call, unused), await isRegistered(call, used)]).toEqual([false, true])
  })

  it('ends its own connections when it is deleted, and no others', async () => {
    const { call, made: agent } = await startWith(start, newAgent)
    const other = await newAgent(call, { session: agent.session })
    const { id, registrationToken: token } = agent.app
    expect((await call('DELETE', `/v4/oidc/reg/${id}`, { token })).status).toBe(204)
    expect([await worksAt(call, agent.accessToken), await worksAt(call, other.accessToken)]).toEqual([false, true])
    const { events } = (await call('GET', '/v4/events?type=connection.deleted', { session: agent.session })).body
    expect(events).toMatchObject([{ actor: id, data: { client_id: id } }])
    await disconnect(call, agent.session, other.app)
    const { user } = (await call('GET', '/v4/session', { session: agent.session })).body
    const again = (await call('GET', '/v4/events?type=connection.deleted', { session: agent.session })).body.events
    expect(again[0]).toMatchObject({ actor: `user:${user.id}`, data: { client_id: other.app.id } })
  })
})

contract('the credentials of a client', (start) => {
  const exchange = (call: Call, headers: Record<string, string>, form: Record<string, string> = {}) =>
    call('POST', '/v4/oidc/token', { headers, form: { grant_type: 'refresh_token', refresh_token: 'x', ...form } })

  it('are read from the Basic scheme in any case, and from nothing that only looks like it', async () => {
    const { call, made: app } = await startWith(start, newConfidentialApp)
    const secret = app.secret as string
    const pair = btoa(`${app.id}:${secret}`)
    for (const authorization of [`basic ${pair}`, `BASIC   ${pair}`])
      expectOAuthError(await exchange(call, { authorization }), 400, 'invalid_grant')
    for (const authorization of [
      `XBasic ${pair}`,
      `Basic ${pair} x`,
      `Bearer ${pair}`,
      'Basic',
      'Basic %%%',
      `Basic ${btoa(app.id)}`,
      `Basic ${btoa(`${app.id}:${secret}:`)}`,
      `Basic ${btoa(`x:${app.id}:${secret}`)}`,
      `Basic ${btoa(`${app.id}%ff:${secret}`)}`,
      `Basic ${btoa(`${app.id}%00:${secret}`)}`,
    ]) {
      const answer = await exchange(call, { authorization })
      expectOAuthError(answer, 401, 'invalid_client')
      expect(answer.headers.get('www-authenticate')).toBe('Basic realm="farthing"')
    }
    const none = await exchange(call, {})
    expectOAuthError(none, 401, 'invalid_client')
    expect(none.headers.get('www-authenticate')).toBe('Basic realm="farthing"')
    const wrong = await exchange(call, {}, { client_id: app.id, client_secret: 'x' })
    expectOAuthError(wrong, 401, 'invalid_client')
    expect(wrong.headers.get('www-authenticate')).toBeNull()
  })

  it('come in the header or in the body, and may name the client in both', async () => {
    const { call, made: app } = await startWith(start, newConfidentialApp)
    const secret = app.secret as string
    const headers = basic(app.id, secret)
    expectOAuthError(await exchange(call, headers, { client_id: app.id }), 400, 'invalid_grant')
    expectOAuthError(await exchange(call, headers, { client_id: 'mid_0' }), 400, 'invalid_request')
    expectOAuthError(await exchange(call, headers, { client_secret: secret }), 400, 'invalid_request')
    const posted = { client_id: app.id, client_secret: secret }
    expectOAuthError(await exchange(call, {}, posted), 400, 'invalid_grant')
  })

  it('of a registration are its token alone, after the Bearer scheme in any case', async () => {
    const {
      call,
      made: { id, registrationToken },
    } = await startWith(start, newApp)
    const read = async (authorization: string) =>
      (await call('GET', `/v4/oidc/reg/${id}`, { headers: { authorization } })).status
    expect([await read(`bearer ${registrationToken}`), await read(`Bearer   ${registrationToken}`)]).toEqual([200, 200])
    for (const wrong of [`XBearer ${registrationToken}`, `Bearer ${registrationToken} x`, registrationToken])
      expect(await read(wrong)).toBe(401)
  })
})

contract('an app that asks for a user who has a device', (start) => {
  /** A signed-in user with a device, and the page of an app that wants to connect. */
  async function asked(call: Call) {
    const payer = await newPayer(call, await newSeller(call))
    const session = await newSession(call, payer.email)
    await registerDevice(call, payer)
    const app = await newApp(call)
    const path = await startInteraction(call, app)
    expect((await call('GET', path, { session })).text).toContain('Approve on your device')
    const pushed = async () => {
      const { messages } = (await call('GET', `/_sandbox/outbox?to=${payer.email}&kind=push`)).body
      return messages.map(({ data }: { data: Record<string, string> }) => [
        data.action,
        Number(data.authentication_request_id),
      ])
    }
    return { payer, session, app, path, pushed }
  }

  it('goes back with access_denied when the device rejects it', async () => {
    const { call } = await start()
    const { payer, session, path, pushed } = await asked(call)
    const [[action, id]] = await pushed()
    expect(action).toBe('connect_app')
    await answerFromDevice(call, payer, { id, verb: 'reject' })
    expect(returned(await call('GET', path, { session })).error).toBe('access_denied')
    expect(await connectionsOf(call, session)).toEqual([])
  })

  it('asks for consent once the device approves it, and the app learns of both factors', async () => {
    const { call } = await start()
    const { payer, session, app, path, pushed } = await asked(call)
    // Neither pressing on nor another session gets past the device.
    const guest = await newGuest(call)
    for (const [browser, shown] of [
      [session, 'Approve on your device'],
      [guest, 'Continue'],
    ] as const) {
      const early = await fill(call, path, browser, { answer: 'allow', account: 'none' })
      expect(locationOf(early).pathname).toBe(path)
      expect((await call('GET', path, { session: browser })).text).toContain(shown)
    }
    expect(await connectionsOf(call, session)).toEqual([])
    const [[, id], ...others] = await pushed()
    expect(others).toEqual([])
    await answerFromDevice(call, payer, { id })
    await call('GET', path, { session })
    const wrong = await fill(call, path, session, { answer: 'allow', account: '999' })
    expect([wrong.status, wrong.body.field]).toEqual([400, 'account'])
    const { code = '' } = returned(await fill(call, path, session, { answer: 'allow', account: 'none' }))
    const { body } = await exchangeCode(call, app, code)
    expect(claimsIn(body.id_token).amr).toEqual(['otp', 'mfa'])
    expect(await pushed()).toHaveLength(1)
  })

  it('can ask again once nobody answered in time', async () => {
    const { call } = await start()
    await stopClock(call)
    const { session, path, pushed } = await asked(call)
    await advance(call, '2m')
    expect((await call('GET', path, { session })).text).toContain('value="ask_again"')
    expect((await fill(call, path, session, { answer: 'ask_again' })).status).toBeLessThan(400)
    await call('GET', path, { session })
    expect(await pushed()).toHaveLength(2)
  })
})
