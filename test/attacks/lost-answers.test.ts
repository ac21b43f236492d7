import { describe, expect, it } from 'vitest'
import type { Answer } from '../support/api.js'
import { attackedEach } from '../support/scenes/attacked.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import {
  type App,
  asClient,
  authorizeApp,
  CALLBACK,
  credentialsOf,
  exchangeCode,
  expectOAuthError,
  newAgent,
  newApp,
  newConfidentialApp,
  refreshWith,
  VERIFIER,
  worksAt,
} from '../support/scenes/oidc.js'
import { basic, newPayer, newSeller } from '../support/scenes/world.js'

/** Retries with an Idempotency-Key at the token endpoints, by the caller and by someone who has only the key. */

const KEY = 'a-key-of-the-client'

const { running, call } = attackedEach()

const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

describe.each(['/v4/account/oauth/token', '/v4/user/oauth/token', '/v2/account/oauth/token'])('POST %s', (path) => {
  const refresh = (token: string, key?: string, body?: object) =>
    call('POST', path, { token, ...(body && { body }), headers: key === undefined ? {} : { 'idempotency-key': key } })

  async function refreshToken(): Promise<string> {
    const seller = await newSeller(call)
    const { clientId, clientSecret } = path.includes('user') ? await newPayer(call, seller) : seller
    return (await call('POST', path, { headers: basic(clientId, clientSecret) })).body.refresh_token
  }

  it('answers a retry after a lost answer with the same tokens, which work', async () => {
    const first = await refreshToken()
    const lost = await refresh(first, KEY)
    const again = await refresh(first, KEY)
    expect([lost.status, again.status, isReplay(lost), isReplay(again)]).toEqual([200, 200, false, true])
    expect(again.body).toEqual(lost.body)
    expect((await call('GET', '/v4/twins', { token: again.body.access_token })).status).toBe(200)
    expect((await refresh(again.body.refresh_token)).status).toBe(200)
  })

  it('returns one pair to two calls at once', async () => {
    const first = await refreshToken()
    const [one, other] = await Promise.all([refresh(first, KEY), refresh(first, KEY)])
    expect([one.status, other.body]).toEqual([200, one.body])
  })

  it('refuses the used token with another key, without a key, and after its successor was used', async () => {
    const first = await refreshToken()
    const { body } = await refresh(first, KEY)
    expectProblem(await refresh(first, 'another-key'), 401, 'refresh_token_invalid')
    expectProblem(await refresh(first), 401, 'refresh_token_invalid')
    expect((await refresh(first, KEY)).body).toEqual(body)
    expect((await refresh(body.refresh_token)).status).toBe(200)
    expectProblem(await refresh(first, KEY), 401, 'refresh_token_invalid')
  })

  it('refuses a different body with the same key', async () => {
    const first = await refreshToken()
    await refresh(first, KEY)
    expectProblem(await refresh(first, KEY, { grant_type: 'refresh_token' }), 422, 'idempotency_mismatch')
  })

  it('returns nothing to callers who know the key but not the token', async () => {
    const [first, other] = [await refreshToken(), await refreshToken()]
    const { body } = await refresh(first, KEY)
    for (const token of ['tqmt_0', body.access_token, first.toUpperCase()])
      expectProblem(await refresh(token, KEY), 401, 'refresh_token_invalid')
    const theirs = await refresh(other, KEY)
    expect([isReplay(theirs), theirs.body.access_token === body.access_token]).toEqual([false, false])
    expectProblem(await call('POST', path, { headers: { 'idempotency-key': KEY } }), 401, 'credentials_missing')
  })

  it('drops the stored answer when its tokens end', async () => {
    await stopClock(call)
    const first = await refreshToken()
    await refresh(first, KEY)
    await advance(call, '24h')
    expectProblem(await refresh(first, KEY), 401, 'refresh_token_invalid')
  })
})

describe('client credentials', () => {
  it('return the same answer to a retry, and to nobody else', async () => {
    const { clientId, clientSecret } = await newSeller(call)
    await stopClock(call)
    await advance(call, '1h')
    const ask = (secret: string, form: Record<string, string> = { grant_type: 'client_credentials' }) =>
      call('POST', '/v4/account/oauth/token', {
        form,
        headers: { ...basic(clientId, secret), 'idempotency-key': KEY },
      })
    const first = await ask(clientSecret)
    const again = await ask(clientSecret)
    expect([first.status, isReplay(again), again.body]).toEqual([200, true, first.body])
    expectProblem(await ask('mc_0'), 401, 'client_unknown')
    expectProblem(await ask(clientSecret, {}), 422, 'idempotency_mismatch')
  })

  it('return new tokens instead of a used pair', async () => {
    const { clientId, clientSecret } = await newSeller(call)
    await stopClock(call)
    await advance(call, '1h')
    const headers = { ...basic(clientId, clientSecret), 'idempotency-key': KEY }
    const ask = async () => (await call('POST', '/v4/account/oauth/token', { headers })).body
    const first = await ask()
    await call('POST', '/v4/account/oauth/token', { token: first.refresh_token })
    expect((await ask()).access_token).not.toBe(first.access_token)
    await advance(call, '1h')
    const { access_token } = await ask()
    expect((await call('GET', '/v4/account', { token: access_token })).status).toBe(200)
  })

  it('count wrong secrets even with a key', async () => {
    const { clientId, clientSecret } = await newSeller(call)
    const ask = (secret: string) =>
      call('POST', '/v4/account/oauth/token', { headers: { ...basic(clientId, secret), 'idempotency-key': KEY } })
    for (let n = 0; n < 20; n++) expectProblem(await ask('mc_0'), 401, 'client_unknown')
    expectProblem(await ask('mc_0'), 429, 'too_many_failures')
    expect((await ask(clientSecret)).status).toBe(200)
  })
})

describe('POST /v4/oidc/token', () => {
  const keyed = (app: App, form: Record<string, string>, key = KEY): Promise<Answer> => {
    const { headers, form: own } = credentialsOf(app)
    return call('POST', '/v4/oidc/token', {
      headers: { ...headers, 'idempotency-key': key },
      form: { ...own, ...form },
    })
  }
  const refreshing = (refresh_token: string) => ({ grant_type: 'refresh_token', refresh_token })
  const exchanging = (code: string) => ({
    ...{ grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: VERIFIER },
  })

  it.each(['public', 'confidential'])(
    'answers a retry of a %s client with the same tokens, without treating it as reuse',
    async (kind) => {
      const app = await (kind === 'public' ? newApp : newConfidentialApp)(call)
      const { code } = await authorizeApp(call, app)
      const exchanged = await keyed(app, exchanging(code))
      expect((await keyed(app, exchanging(code))).body).toEqual(exchanged.body)
      const form = refreshing(exchanged.body.refresh_token)
      const lost = await keyed(app, form)
      const again = await keyed(app, form)
      expect([lost.status, isReplay(again), again.body]).toEqual([200, true, lost.body])
      expect(await worksAt(call, again.body.access_token)).toBe(true)
      expect((await refreshWith(call, app, again.body.refresh_token)).status).toBe(200)
      const { events } = (await call('GET', '/v4/events?type=token.reused', await newUserSession())).body
      expect(events).toEqual([])
    },
  )

  const newUserSession = async () => {
    const { session } = await authorizeApp(call, await newApp(call))
    return { session }
  }

  it.each(['another key', 'no key'])(
    'treats the used token with %s as stolen, and then returns the stored answer to nobody',
    async (how) => {
      const { app, refreshToken } = await newAgent(call)
      const form = refreshing(refreshToken)
      const { body } = await keyed(app, form)
      const reused = how === 'no key' ? await asClient(call, app, 'token', form) : await keyed(app, form, 'another-key')
      expectOAuthError(reused, 400, 'invalid_grant')
      expect(await worksAt(call, body.access_token)).toBe(false)
      expectOAuthError(await keyed(app, form), 400, 'invalid_grant')
    },
  )

  it('does the same with a code', async () => {
    const app = await newApp(call)
    const { code } = await authorizeApp(call, app)
    const { body } = await keyed(app, exchanging(code))
    expectOAuthError(await exchangeCode(call, app, code), 400, 'invalid_grant')
    expect(await worksAt(call, body.access_token)).toBe(false)
    expectOAuthError(await keyed(app, exchanging(code)), 400, 'invalid_grant')
  })

  it.each<[string, (agent: Awaited<ReturnType<typeof newAgent>>, issued: any) => Promise<Answer>]>([
    [
      'the access token was revoked',
      ({ app }, { access_token: token }) => asClient(call, app, 'token/revocation', { token }),
    ],
    [
      'the refresh token was revoked',
      ({ app }, { refresh_token: token }) => asClient(call, app, 'token/revocation', { token }),
    ],
    ['the refresh token was used', ({ app }, { refresh_token }) => refreshWith(call, app, refresh_token)],
    [
      'the user disconnected the app',
      async ({ session }) => {
        const [{ id }] = (await call('GET', '/v4/connections', { session })).body.connections
        return call('DELETE', `/v4/connections/${id}`, { session })
      },
    ],
    ['the tokens expired', () => advance(call, '24h').then(() => call('GET', '/v4/dq'))],
  ])('returns no stored answer once %s', async (_, end) => {
    await stopClock(call)
    const agent = await newAgent(call)
    const form = refreshing(agent.refreshToken)
    const { body } = await keyed(agent.app, form)
    expect((await end(agent, body)).status).toBeLessThan(300)
    expectOAuthError(await keyed(agent.app, form), 400, 'invalid_grant')
  })

  it('returns none to a deleted client', async () => {
    const { app, refreshToken } = await newAgent(call)
    await keyed(app, refreshing(refreshToken))
    await call('DELETE', `/v4/oidc/reg/${app.id}`, { token: app.registrationToken })
    expectOAuthError(await keyed(app, refreshing(refreshToken)), 401, 'invalid_client')
  })

  it('returns none to callers who know the key but lack the verifier, the secret or the token', async () => {
    const app = await newConfidentialApp(call)
    const { code } = await authorizeApp(call, app)
    const { body } = await keyed(app, exchanging(code))
    const other = await newConfidentialApp(call)
    expectProblem(await keyed(app, { ...exchanging(code), code_verifier: `${VERIFIER}0` }), 422, 'idempotency_mismatch')
    expectOAuthError(await keyed({ ...app, secret: 'mc_0' }, exchanging(code)), 401, 'invalid_client')
    expectOAuthError(await keyed(other, exchanging(code)), 400, 'invalid_grant')
    expectOAuthError(await keyed(app, exchanging('guess')), 400, 'invalid_grant')
    expectOAuthError(await keyed(app, refreshing('guess')), 400, 'invalid_grant')
    expectOAuthError(await keyed(other, refreshing(body.refresh_token)), 400, 'invalid_grant')
    expect((await keyed(app, exchanging(code))).body).toEqual(body)
  })

  it('lets the client correct a refused request with the same key', async () => {
    const app = await newApp(call)
    const { code } = await authorizeApp(call, app)
    const wrong = { ...exchanging(code), redirect_uri: `${CALLBACK}/other` }
    expectOAuthError(await keyed(app, wrong), 400, 'invalid_grant')
    expect((await keyed(app, exchanging(code))).status).toBe(200)
  })

  it('stores no token unencrypted', async () => {
    const { app, refreshToken } = await newAgent(call)
    const { body } = await keyed(app, refreshing(refreshToken))
    const state = JSON.stringify(await running().state())
    for (const secret of [refreshToken, body.refresh_token, body.access_token, KEY]) expect(state).not.toContain(secret)
  })
})

describe('a registration with a key', () => {
  it('creates one client, and another after that one is deleted', async () => {
    const register = () =>
      call('POST', '/v4/oidc/reg', {
        body: { redirect_uris: [CALLBACK] },
        headers: { 'idempotency-key': '0f1e2d3c4b5a69788796a5b4c3d2e1f0' },
      })
    const { body } = await register()
    expect((await register()).body).toEqual(body)
    await call('DELETE', `/v4/oidc/reg/${body.client_id}`, { token: body.registration_access_token })
    expect((await register()).body.client_id).not.toBe(body.client_id)
  })
})
