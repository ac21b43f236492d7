import { describe, expect, it } from 'vitest'
import type { Call } from '../support/api.js'
import { attacked } from '../support/scenes/attacked.js'
import { expectProblem } from '../support/scenes/market.js'
import {
  ALL_SCOPES,
  type App,
  authorizeApp,
  CALLBACK,
  exchangeCode,
  expectOAuthError,
  fill,
  newApp,
  refreshWith,
  startInteraction,
} from '../support/scenes/oidc.js'
import { newSession } from '../support/scenes/world.js'

/**
 * An app removes a stolen redirect URI, or a scope, from its registration. What was asked before that ends, at each step of
 * the way to a token.
 */

const startService = attacked()
const STOLEN = 'https://stolen.example.test/callback'

const change = (call: Call, app: App, metadata: object) =>
  call('PUT', `/v4/oidc/reg/${app.id}`, {
    token: app.registrationToken,
    body: {
      ...{ client_id: app.id, client_name: 'Errand Runner', redirect_uris: [CALLBACK] },
      ...{ token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'ES256', ...metadata },
    },
  })

async function start() {
  const { call } = await startService()
  const app = await newApp(call, { redirect_uris: [CALLBACK, STOLEN] })
  const session = await newSession(call, 'ada@example.test')
  return { call, app, session }
}

describe.each([
  ['a redirect URI', {}, { redirect_uri: STOLEN }],
  ['a scope', { redirect_uris: [CALLBACK, STOLEN], scope: 'openid email offline_access' }, {}],
])('after an app removed %s', (_, metadata, asked) => {
  it('its open page shows nothing, and gives no code', async () => {
    const { call, app, session } = await start()
    const path = await startInteraction(call, app, asked)
    expect((await call('GET', path, { session })).status).toBe(200)
    expect((await change(call, app, metadata)).status).toBe(200)
    expectProblem(await call('GET', path, { session }), 410, 'interaction_expired')
    const allowed = await fill(call, path, session, { answer: 'allow', account: 'none' })
    expectProblem(allowed, 410, 'interaction_expired')
  })
})

it('a code for a removed redirect URI buys no token', async () => {
  const { call, app, session } = await start()
  const { code } = await authorizeApp(call, app, { session, redirect_uri: STOLEN })
  await change(call, app, {})
  expectOAuthError(await exchangeCode(call, app, code, { redirect_uri: STOLEN }), 400, 'invalid_grant')
})

it('a code and a refresh token are good for the scopes that are left', async () => {
  const { call, app, session } = await start()
  const { code } = await authorizeApp(call, app, { session })
  const { body } = await exchangeCode(call, app, code)
  expect(body.scope).toBe(ALL_SCOPES)
  const later = (await authorizeApp(call, app, { session })).code
  await change(call, app, { scope: 'openid offline_access' })
  expect((await exchangeCode(call, app, later)).body.scope).toBe('openid offline_access')
  const refreshed = await refreshWith(call, app, body.refresh_token)
  expect([refreshed.status, refreshed.body.scope]).toEqual([200, 'openid offline_access'])
  expect((await call('GET', '/v4/oidc/me', { token: refreshed.body.access_token })).body).not.toHaveProperty('email')
  // It may not widen them again.
  await change(call, app, {})
  const again = await refreshWith(call, app, refreshed.body.refresh_token)
  expect(again.body.scope).toBe('openid offline_access')
})

it('nothing is left of a token whose scopes are all removed', async () => {
  const { call, app, session } = await start()
  const { code } = await authorizeApp(call, app, { session, scope: 'email offline_access' })
  const { body } = await exchangeCode(call, app, code)
  await change(call, app, { scope: 'openid' })
  expectOAuthError(await refreshWith(call, app, body.refresh_token), 400, 'invalid_scope')
})
