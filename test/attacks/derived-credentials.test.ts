import { afterEach, describe, expect, it } from 'vitest'
import { createService, type Service } from '../../src/index.js'
import { type Answer, type Call, type CallOptions, caller } from '../support/api.js'
import { readCode, startProduction } from '../support/production.js'
import { newOwnAccount } from '../support/scenes/account-changes.js'
import { advance, stopClock } from '../support/scenes/market.js'
import { authorizeApp, exchangeCode, newAgent, newApp, refreshWith } from '../support/scenes/oidc.js'
import { ORIGIN } from '../support/scenes/paywall.js'
import { newGuest } from '../support/scenes/sign-in.js'
import {
  basic,
  newCommodity,
  newPayer,
  newSeller,
  newSession,
  type Payer,
  type Seller,
} from '../support/scenes/world.js'

/** A credential that was made from another ends with it, however that ends. */

const EMAIL = 'ada@example.test'

const open: Service[] = []
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

interface World {
  readonly service: Service
  readonly call: Call
  readonly seller: Seller
  /** Of a commodity of the seller. */
  readonly hash: string
  readonly payer: Payer
}

async function newWorld(): Promise<World> {
  const service = createService({ sandbox: true, log: { error: () => {} } })
  open.push(service)
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  await stopClock(call)
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  return { service, call, seller, hash, payer: await newPayer(call, seller, { email: EMAIL }) }
}

async function newPageSession({ call, hash }: Pick<World, 'call' | 'hash'>, session: string): Promise<CallOptions> {
  const { body } = await call('POST', '/v4/session/page', { session, body: { hash, origin: ORIGIN } })
  return { session: body.session_id, headers: { origin: ORIGIN } }
}

/** Who is signed in, to whoever asks with this session. */
const signedIn = async (call: Call, session: CallOptions): Promise<string | null> =>
  (await call('GET', '/v4/session', session)).body.user?.email ?? null

/** Whether a page session still acts for its user. It names only a user whose email is proven. */
const actsFor = async (call: Call, page: CallOptions): Promise<boolean> => {
  const { status, body } = await call('POST', '/v4/paywall', { ...page, body: { amount: 0.1 } })
  if (status === 401) expect(body.code).toBe('sign_in_required')
  return status !== 401
}

const tokenOf = async (
  call: Call,
  { clientId, clientSecret }: Pick<Payer, 'clientId' | 'clientSecret'>,
): Promise<string> =>
  (await call('POST', '/v4/user/oauth/token', { headers: basic(clientId, clientSecret) })).body.access_token

const createSecrets = async ({ call }: World, newest: Pick<Payer, 'clientId' | 'clientSecret'>): Promise<Answer> =>
  call('POST', '/v4/user/secrets', { token: await tokenOf(call, newest) })

/** Ends the client credentials that a user began with: only the newest two of a user work. */
async function endCredentials(world: World): Promise<void> {
  let newest: Pick<Payer, 'clientId' | 'clientSecret'> = world.payer
  for (let n = 0; n < 2; n++) {
    await advance(world.call, '1s')
    const { status, body } = await createSecrets(world, newest)
    expect(status).toBe(201)
    newest = { clientId: body.secrets[0].client_id, clientSecret: body.secrets[0].client_secret }
  }
}

/** Each way in which a user's own session ends. */
const endsOfSession: Record<string, (world: World, session: string) => Promise<unknown>> = {
  'its sign-out': ({ call }, session) => call('DELETE', '/v4/session', { session }),
  'its revocation': async ({ call, payer }, session) => {
    const { sessions } = (await call('GET', '/v4/sessions', { session })).body
    const { id } = sessions.find(({ current }: { current: boolean }) => current)
    const answer = await call('DELETE', `/v4/sessions/${id}`, { token: await tokenOf(call, payer) })
    expect(answer.status).toBe(204)
  },
  'the sign-out of OpenID Connect': ({ call }, session) =>
    call('POST', '/v4/oidc/session/end/confirm', { session, form: { answer: 'sign_out' } }),
  'its expiry': ({ call }) => advance(call, '23h'),
  'a new sign-in in its place': async ({ call }, session) => {
    await call('POST', '/v4/session/code', { session, body: { email: EMAIL } })
    const [code] = (await call('GET', `/_sandbox/outbox?to=${EMAIL}&limit=1`)).body.messages[0].codes
    await call('POST', '/v4/session/verify', { session, body: { email: EMAIL, code } })
  },
  'the clock before it': ({ service }) => service.sandbox.setClock({ set: Date.UTC(2001, 0, 1) }),
  'a state without it': async ({ service }) => {
    const state = await service.sandbox.snapshot()
    const sessions = (state.rows.sessions ?? []).filter((row) => 'by' in row && row.by === 'page')
    await service.sandbox.restore({ ...state, rows: { ...state.rows, sessions } })
  },
}

describe('a page session', () => {
  it.each(Object.entries(endsOfSession))('ends with %s', async (_, end) => {
    const world = await newWorld()
    const session = await newSession(world.call, EMAIL)
    await advance(world.call, '1h')
    const page = await newPageSession(world, session)
    expect(await signedIn(world.call, page)).toBe(EMAIL)
    await end(world, session)
    expect(await signedIn(world.call, page)).toBeNull()
    const refused = await world.call('POST', '/v4/paywall', { ...page, body: { amount: 0.1 } })
    expect([refused.status, refused.body.code]).toEqual([401, 'sign_in_required'])
    const rest = (await world.call('GET', '/v4/sessions', { token: await tokenOf(world.call, world.payer) })).body
    expect(rest.sessions.map(({ origin }: { origin: string | null }) => origin)).not.toContain(ORIGIN)
  })

  it('says that it ends with its session, and stays until then', async () => {
    const world = await newWorld()
    const session = await newSession(world.call, EMAIL)
    const { expires_at } = (await world.call('GET', '/v4/session', { session })).body
    await advance(world.call, '23h')
    const page = await newPageSession(world, session)
    expect((await world.call('GET', '/v4/session', page)).body.expires_at).toBe(expires_at)
    await advance(world.call, '59m')
    expect(await signedIn(world.call, page)).toBe(EMAIL)
  })

  it('ends with the first proof of its user', async () => {
    const production = startProduction()
    const { call } = production
    const seller = await newSeller(production.operate)
    const made = (await call('POST', '/v4/user', { token: seller.token, body: { email: EMAIL } })).body
    const [{ client_id, client_secret }] = made.secrets
    const headers = basic(client_id, client_secret)
    const token = (await call('POST', '/v4/user/oauth/token', { headers })).body.access_token
    const session = (await call('POST', '/v4/session', { token })).body.session_id
    const { hash } = await newCommodity(production.operate, seller)
    const page = await newPageSession({ call, hash }, session)
    expect([await signedIn(call, { session }), await actsFor(call, page)]).toEqual([EMAIL, true])
    const own = await newGuest(call)
    const code = await readCode(production, own, EMAIL)
    expect((await call('POST', '/v4/session/verify', { session: own, body: { email: EMAIL, code } })).status).toBe(200)
    expect([await signedIn(call, { session }), await actsFor(call, page)]).toEqual([null, false])
  })
})

/** Kinds of credentials that are made from others. Each says how its source ends. */
const derived: Record<
  string,
  (world: World) => Promise<{ works: () => Promise<boolean>; end: () => Promise<unknown> }>
> = {
  'a session from an access token, with the client credentials': async (world) => {
    const session = (await world.call('POST', '/v4/session', { token: world.payer.token })).body.session_id
    return { works: async () => (await signedIn(world.call, { session })) === EMAIL, end: () => endCredentials(world) }
  },
  'a page session from such a session, with the client credentials': async (world) => {
    const session = (await world.call('POST', '/v4/session', { token: world.payer.token })).body.session_id
    const page = await newPageSession(world, session)
    return { works: () => actsFor(world.call, page), end: () => endCredentials(world) }
  },
  'an access token, with the client credentials': async (world) => {
    const { call, payer } = world
    return {
      works: async () => (await call('GET', '/v4/twins', { token: payer.token })).status === 200,
      end: () => endCredentials(world),
    }
  },
  'a refreshed token, with the client credentials': async (world) => {
    const { call, payer } = world
    const pair = (await call('POST', '/v4/user/oauth/token', { headers: basic(payer.clientId, payer.clientSecret) }))
      .body
    const { access_token } = (await call('POST', '/v4/user/oauth/token', { token: pair.refresh_token })).body
    return {
      works: async () => (await call('GET', '/v4/twins', { token: access_token })).status === 200,
      end: () => endCredentials(world),
    }
  },
  "an app's access token, with the connection": async ({ call }) => {
    const { accessToken, session } = await newAgent(call, { email: EMAIL })
    return {
      works: async () => (await call('GET', '/v4/agent/account', { token: accessToken })).status === 200,
      end: () => disconnect(call, session),
    }
  },
  "an app's refresh token, with the connection": async ({ call }) => {
    const { app, refreshToken, session } = await newAgent(call, { email: EMAIL })
    let token = refreshToken
    return {
      async works() {
        const answer = await refreshWith(call, app, token)
        token = answer.body.refresh_token ?? token
        return answer.status === 200
      },
      end: () => disconnect(call, session),
    }
  },
  "an app's tokens, with the app's registration": async ({ call }) => {
    const { app, accessToken } = await newAgent(call, { email: EMAIL })
    return {
      works: async () => (await call('GET', '/v4/agent/account', { token: accessToken })).status === 200,
      end: () => call('DELETE', `/v4/oidc/reg/${app.id}`, { token: app.registrationToken }),
    }
  },
  'an authorization code, with the connection': async ({ call }) => {
    const app = await newApp(call)
    const first = await newAgent(call, { app, email: EMAIL })
    const next = async () => (await authorizeApp(call, app, { session: first.session })).code
    let code = await next()
    return {
      async works() {
        const { status } = await exchangeCode(call, app, code)
        if (status === 200) code = await next()
        return status === 200
      },
      end: () => disconnect(call, first.session),
    }
  },
  'the link on which a user chooses an account, with the connection': async ({ call }) => {
    const email = 'grace@example.test'
    await newOwnAccount(call, email)
    const { accessToken, session } = await newAgent(call, { email })
    const { url } = (await call('POST', '/v4/agent/account-choice', { token: accessToken })).body
    const path = new URL(url).pathname
    return {
      works: async () => (await call('GET', path, { session })).status === 200,
      end: () => disconnect(call, session),
    }
  },
}

async function disconnect(call: Call, session: string): Promise<void> {
  const { connections } = (await call('GET', '/v4/connections', { session })).body
  for (const { id } of connections)
    expect((await call('DELETE', `/v4/connections/${id}`, { session })).status).toBe(204)
}

describe('what is made from a credential ends with it:', () => {
  it.each(Object.entries(derived))('%s', async (_, make) => {
    const { works, end } = await make(await newWorld())
    expect(await works()).toBe(true)
    await end()
    expect(await works()).toBe(false)
  })
})
