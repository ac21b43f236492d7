import { expect, it } from 'vitest'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { advance, stopClock } from '../../../support/scenes/market.js'
import { expectOAuthError, locationOf, newAgent, newApp } from '../../../support/scenes/oidc.js'
import { newSession } from '../../../support/scenes/world.js'

contract('endOidcSession', (start) => {
  const bye = 'https://app.example.test/bye'
  const withLogout = { post_logout_redirect_uris: [bye] }
  const end = (parameters: Record<string, string>) => `/v4/oidc/session/end?${new URLSearchParams(parameters)}`
  const isSignedIn = async (call: any, session: string) =>
    (await call('GET', '/v4/session', { session })).body.user !== null

  it('GET signs out at once and redirects back if the client sends an id token of the signed-in user', async () => {
    const { call } = await start()
    const { session, idToken } = await newAgent(call, { app: await newApp(call, withLogout) })
    const path = end({ id_token_hint: idToken, post_logout_redirect_uri: bye, state: 'a b' })
    const answer = await call('GET', path, { session })
    expect(locationOf(answer).href).toBe(`${bye}?state=a+b`)
    expect(answer.headers.get('set-cookie')).toMatch(/^session_id=; Max-Age=0/)
    expect(await isSignedIn(call, session)).toBe(false)
  })

  it('an expired id token with an old key still names its user', async () => {
    const { call } = await start()
    await stopClock(call)
    const { session, idToken } = await newAgent(call, { app: await newApp(call, withLogout) })
    await call('POST', '/_sandbox/keys/rotate')
    await advance(call, '2h')
    const answer = await call('GET', end({ id_token_hint: idToken, post_logout_redirect_uri: bye }), { session })
    expect(locationOf(answer).href).toBe(bye)
  })

  it('asks the signed-in user if a page could have sent them, and follows their answer', {
    tags: ['everywhere', 'pages'],
  }, async () => {
    const { call, url } = await start()
    const ada = await newAgent(call, { app: await newApp(call, withLogout) })
    const eve = await newSession(call, 'eve@example.test')
    const request = { client_id: ada.app.id, post_logout_redirect_uri: bye }
    for (const [session, path] of [
      [ada.session, end({})],
      [ada.session, end(request)],
      [eve, end({ id_token_hint: ada.idToken })],
    ] as const) {
      const page = await call('GET', path, { session })
      expect(page.text).toContain('>Sign out</button>')
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(await isSignedIn(call, session)).toBe(true)
    }
    const confirm = (answer: string) =>
      call('POST', '/v4/oidc/session/end/confirm', { session: ada.session, form: { ...request, answer } })
    expect((await confirm('cancel')).text).toContain('Still signed in')
    expect(await isSignedIn(call, ada.session)).toBe(true)
    expect(locationOf(await confirm('sign_out')).href).toBe(bye)
    expect(await isSignedIn(call, ada.session)).toBe(false)
    const origin = { cookie: `session_id=${eve}`, origin: new URL(url).origin }
    const form = { answer: 'sign_out' }
    const answer = await call('POST', '/v4/oidc/session/end/confirm', { headers: origin, form })
    expect(answer.text).toContain('Signed out')
    expect(await isSignedIn(call, eve)).toBe(false)
  })

  it('POST from any site redirects to GET without reading a cookie', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const {
      call,
      url,
      made: { session, idToken },
    } = await startWith(start, newAgent)
    const headers = { origin: 'https://app.example.test', cookie: `session_id=${session}` }
    const form = { id_token_hint: idToken, state: 'a' }
    const location = locationOf(await call('POST', '/v4/oidc/session/end', { form, headers }))
    expect(location.href).toBe(`${url}${end(form)}`)
    expect(await isSignedIn(call, session)).toBe(true)
  })

  it('asks nothing if nobody is signed in', async () => {
    const { call } = await start()
    expect((await call('GET', end({}))).text).toContain('Signed out')
  })

  it.each<[string, Record<string, string>]>([
    ['an address that is not registered', { post_logout_redirect_uri: `${bye}2` }],
    ['an address and no client', { client_id: '', post_logout_redirect_uri: bye }],
    ['an id token that is none', { id_token_hint: 'nonsense' }],
  ])('refuses %s with 400 invalid_request, and signs nobody out', async (_, wrong) => {
    const { call } = await start()
    const { session, app } = await newAgent(call, { app: await newApp(call, withLogout) })
    const request = { client_id: app.id, ...wrong }
    expectOAuthError(await call('GET', end(request), { session }), 400, 'invalid_request')
    const form = { ...request, answer: 'sign_out' }
    expectOAuthError(await call('POST', '/v4/oidc/session/end/confirm', { session, form }), 400, 'invalid_request')
    expect(await isSignedIn(call, session)).toBe(true)
  })
})
