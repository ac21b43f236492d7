import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Host, startHost } from '../../support/browser/host.js'
import { UserAgent } from '../../support/browser/user-agent.js'
import { newConfidentialApp } from '../../support/scenes/oidc.js'
import { Site } from '../support/site.js'
import { importFrom, need, npmPackages } from '../support/toolchain.js'

const VERSION = '1.7.25'
const SITE = 'http://localhost:3000'

interface BetterAuth {
  betterAuth(options: object): { handler(request: Request): Promise<Response> }
}
interface Plugins {
  genericOAuth(options: { config: object[] }): object
}
interface MemoryAdapter {
  memoryAdapter(db: Record<string, object[]>): object
}

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

describe(`better-auth ${VERSION}, generic OAuth`, () => {
  it.for([true, false])('signs in, and shows the user in its session (PKCE: %s)', async (pkce, context) => {
    const packages = await need(context, npmPackages('better-auth', { 'better-auth': VERSION }))
    const { betterAuth } = await importFrom<BetterAuth>(packages, 'better-auth')
    const { genericOAuth } = await importFrom<Plugins>(packages, 'better-auth/plugins')
    const { memoryAdapter } = await importFrom<MemoryAdapter>(packages, 'better-auth/adapters/memory')
    const app = await newConfidentialApp(host.call, {
      redirect_uris: [`${SITE}/api/auth/callback/farthing`],
      id_token_signed_response_alg: undefined,
    })
    const provider = {
      ...{ providerId: 'farthing', clientId: app.id, clientSecret: app.secret, pkce },
      discoveryUrl: `${host.url}/v4/oidc/.well-known/openid-configuration`,
      scopes: ['openid', 'profile', 'email'],
    }
    const auth = betterAuth({
      ...{ baseURL: SITE, secret: 'only this test, at 32 characters long', telemetry: { enabled: false } },
      database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
      plugins: [genericOAuth({ config: [provider] })],
    })
    const site = new Site(SITE, (request) => auth.handler(request))

    const asked = { provider: 'farthing', callbackURL: '/' }
    const away = await site.post('/api/auth/sign-in/social', JSON.stringify(asked), {
      'content-type': 'application/json',
    })
    const back = await new UserAgent(host).authorize((await away.json()).url)
    expect((await site.get(back)).headers.get('location')).toBe('/')
    const { user } = await (await site.get('/api/auth/get-session')).json()
    expect(user).toMatchObject({ name: 'ada@example.test', email: 'ada@example.test', emailVerified: true })
  })
})
