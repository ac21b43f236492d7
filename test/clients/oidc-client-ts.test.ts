import { type INavigator, InMemoryWebStorage, UserManager, WebStorageStateStore } from 'oidc-client-ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'
import { ALL_SCOPES, newApp } from '../support/scenes/oidc.js'

/** The client of single-page apps: public, with PKCE. */

const CALLBACK = 'http://localhost:5173/callback'
const GOODBYE = 'http://localhost:5173/'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

/** In place of the browser's window: what it navigates to is opened by a browser that signs in, or that signs out. */
class Navigator implements INavigator {
  readonly browser = new UserAgent(host)
  back = ''

  async prepare() {
    return {
      navigate: async ({ url }: { url: string }) => {
        const isSignOut = url.includes('/session/end')
        this.back = String(isSignOut ? await this.browser.open(url) : await this.browser.authorize(url))
        return { url: this.back }
      },
      close: () => {},
    }
  }

  async callback() {}
}

it('oidc-client-ts signs in, renews by refresh token, reads userinfo and signs out', async () => {
  const app = await newApp(host.call, {
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [GOODBYE],
    id_token_signed_response_alg: undefined,
  })
  const navigator = new Navigator()
  const store = () => new WebStorageStateStore({ store: new InMemoryWebStorage() })
  const manager = new UserManager(
    {
      authority: `${host.url}/v4/oidc`,
      client_id: app.id,
      redirect_uri: CALLBACK,
      post_logout_redirect_uri: GOODBYE,
      scope: ALL_SCOPES,
      loadUserInfo: true,
      automaticSilentRenew: false,
      userStore: store(),
      stateStore: store(),
    },
    navigator,
  )

  await manager.signinRedirect({ state: { page: 'cart' } })
  const user = await manager.signinRedirectCallback(navigator.back)
  expect(user.state).toEqual({ page: 'cart' })
  expect(user.profile).toMatchObject({ email: 'ada@example.test', email_verified: true })
  expect(user.profile.agent_twin_key, 'only userinfo has it').toEqual(expect.any(String))
  expect(user.expires_in).toBeGreaterThan(3590)

  const renewed = await manager.signinSilent()
  expect(renewed?.access_token).not.toBe(user.access_token)
  expect(renewed?.profile.sub).toBe(user.profile.sub)

  await manager.revokeTokens(['refresh_token'])
  expect((await host.call('GET', '/v4/oidc/me', { token: renewed?.access_token as string })).status).toBe(401)

  await manager.signoutRedirect()
  await manager.signoutRedirectCallback(navigator.back)
  expect(await manager.getUser()).toBeNull()
  const { body } = await host.call('GET', '/v4/session', { headers: { cookie: navigator.browser.cookie } })
  expect(body.user).toBeNull()
})

it('a page of another origin may make the calls of oidc-client-ts', async () => {
  const origin = new URL(CALLBACK).origin
  const { body: provider } = await host.call('GET', '/v4/oidc/.well-known/openid-configuration', {
    headers: { origin },
  })
  const calls = [
    [`${provider.issuer}/.well-known/openid-configuration`, 'GET', 'accept'],
    [provider.jwks_uri, 'GET', 'accept'],
    [provider.token_endpoint, 'POST', 'accept,content-type,authorization'],
    [provider.userinfo_endpoint, 'GET', 'accept,authorization'],
    [provider.revocation_endpoint, 'POST', 'accept,content-type,authorization'],
  ]
  for (const [address, method, sent] of calls) {
    const headers = { origin, 'access-control-request-method': method, 'access-control-request-headers': sent }
    const allowed = (await fetch(address, { method: 'OPTIONS', headers })).headers
    expect([address, allowed.get('access-control-allow-origin')]).toEqual([address, origin])
    expect(allowed.get('access-control-allow-methods')?.split(/, ?/)).toContain(method)
    const names = allowed.get('access-control-allow-headers')?.toLowerCase().split(/, ?/)
    expect(names).toEqual(expect.arrayContaining(sent.split(',')))
    expect((await fetch(address, { method, headers: { origin } })).headers.get('access-control-allow-origin')).toBe(
      origin,
    )
  }
})
