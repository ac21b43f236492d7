import { expect, it } from 'vitest'
import type { Answer, Call } from '../../../support/api.js'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { advance, stopClock } from '../../../support/scenes/market.js'
import {
  type App,
  authorizeApp,
  CALLBACK,
  credentialsOf,
  expectOAuthError,
  newApp,
  newConfidentialApp,
  refreshWith,
  VERIFIER,
} from '../../../support/scenes/oidc.js'

// Without credentials, only a key that is hard to guess counts.
const keyed = { 'idempotency-key': 'a-key-that-is-hard-to-guess' }

/** Exchanges a code under one Idempotency-Key. */
const exchange = (call: Call, app: App, code: string, more: object = {}): Promise<Answer> => {
  const { headers, form } = credentialsOf(app)
  const grant = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: VERIFIER }
  return call('POST', '/v4/oidc/token', { headers: { ...headers, ...keyed }, form: { ...form, ...grant, ...more } })
}

contract('the tokens of a code, asked for again with the same Idempotency-Key', (start) => {
  it('are the same while they are unused, and none once the refresh token was used', async () => {
    const { call } = await start()
    await stopClock(call)
    const app = await newApp(call)
    const { code, session } = await authorizeApp(call, app)
    const first = await exchange(call, app, code)
    expect(first.status).toBe(200)
    await advance(call, '61m')
    const again = await exchange(call, app, code)
    expect([again.status, again.body]).toEqual([200, first.body])
    // The key belongs to the code and the client: other ones get their own answer.
    const other = await authorizeApp(call, app, { session })
    const second = await exchange(call, app, other.code)
    expect([second.status, second.body.access_token === first.body.access_token]).toEqual([200, false])
    expect((await refreshWith(call, app, first.body.refresh_token)).status).toBe(200)
    expectOAuthError(await exchange(call, app, code), 400, 'invalid_grant')
  })

  it('are none once they have expired or were revoked', async () => {
    const { call } = await start()
    await stopClock(call)
    const app = await newApp(call)
    const { code, session } = await authorizeApp(call, app, { scope: 'openid twin' })
    const first = await exchange(call, app, code)
    expect(first.body).not.toHaveProperty('refresh_token')
    await advance(call, '59m')
    expect((await exchange(call, app, code)).body).toEqual(first.body)
    await advance(call, '2m')
    expectOAuthError(await exchange(call, app, code), 400, 'invalid_grant')
    const other = await authorizeApp(call, app, { session })
    const { body } = await exchange(call, app, other.code)
    await call('POST', '/v4/oidc/token/revocation', { form: { client_id: app.id, token: body.access_token } })
    expectOAuthError(await exchange(call, app, other.code), 400, 'invalid_grant')
  })

  it('need the secret of the client each time', async () => {
    const { call, made: app } = await startWith(start, newConfidentialApp)
    const { code } = await authorizeApp(call, app)
    const first = await exchange(call, app, code)
    expect(first.status).toBe(200)
    expectOAuthError(await exchange(call, { ...app, secret: `mc_${'0'.repeat(32)}` }, code), 401, 'invalid_client')
    expect((await exchange(call, app, code)).body).toEqual(first.body)
  })
})

contract('the registration of a client, asked for again with the same Idempotency-Key', (start) => {
  it('is the same, and a new one once it was deleted', async () => {
    const { call } = await start()
    const register = () =>
      call('POST', '/v4/oidc/reg', {
        headers: keyed,
        body: { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' },
      })
    const first = (await register()).body
    expect((await register()).body).toEqual(first)
    const token = first.registration_access_token
    expect((await call('DELETE', `/v4/oidc/reg/${first.client_id}`, { token })).status).toBe(204)
    const second = await register()
    expect(second.status).toBe(201)
    expect(second.body.client_id).not.toBe(first.client_id)
  })
})
