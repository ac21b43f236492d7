import { describe, expect, it } from 'vitest'
import { attackedEach } from '../support/scenes/attacked.js'
import { authorization, locationOf, newAgent, newApp } from '../support/scenes/oidc.js'

/** What an app reads of its user's address without their browser: its server opens the pages itself. */

const { call } = attackedEach()
const EMAIL = 'ada@example.test'

/** Pages that take an id token, as someone without a session sees them. */
const pages: Record<string, (app: { id: string }, parameters: Record<string, string>) => Promise<string>> = {
  async authorizeOidc(app, parameters) {
    const begun = await call('GET', authorization(app, parameters))
    return (await call('GET', locationOf(begun).pathname)).text
  },
  async authorizeOidcByForm(app, parameters) {
    const form = Object.fromEntries(new URL(authorization(app, parameters), 'http://service.test').searchParams)
    return (await call('GET', locationOf(await call('POST', '/v4/oidc/auth', { form })).pathname)).text
  },
  endOidcSession: async (app, { id_token_hint = '' }) =>
    (await call('GET', `/v4/oidc/session/end?${new URLSearchParams({ client_id: app.id, id_token_hint })}`)).text,
}

describe.each(Object.entries(pages))('%s', (_, open) => {
  it.each(['openid', 'openid profile twin offline_access'])(
    'shows no address to an app with scope %s',
    async (scope) => {
      const { app, idToken } = await newAgent(call, { email: EMAIL, scope })
      expect(await open(app, { id_token_hint: idToken, scope })).not.toContain(EMAIL)
      // What the app asks for is not yet what the user has allowed.
      expect(await open(app, { id_token_hint: idToken, scope: 'openid email' })).not.toContain(EMAIL)
    },
  )

  it('shows no address to an app that its user has disconnected', async () => {
    const { app, idToken, session } = await newAgent(call, { email: EMAIL })
    const [{ id }] = (await call('GET', '/v4/connections', { session })).body.connections
    expect((await call('DELETE', `/v4/connections/${id}`, { session })).status).toBe(204)
    expect(await open(app, { id_token_hint: idToken })).not.toContain(EMAIL)
  })
})

it('what the app itself says is filled in', async () => {
  const { app, idToken } = await newAgent(call, { email: EMAIL, scope: 'openid' })
  const text = await pages.authorizeOidc?.(app, { id_token_hint: idToken, login_hint: 'guess@example.test' })
  expect(text).toContain('value="guess@example.test"')
})

it('the address is filled in for an app that may read it', async () => {
  const app = await newApp(call)
  const { idToken } = await newAgent(call, { app, email: EMAIL })
  expect(await pages.authorizeOidc?.(app, { id_token_hint: idToken })).toContain(`value="${EMAIL}"`)
})
