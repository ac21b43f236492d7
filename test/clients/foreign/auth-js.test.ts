import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Host, startHost } from '../../support/browser/host.js'
import { UserAgent } from '../../support/browser/user-agent.js'
import { newConfidentialApp } from '../../support/scenes/oidc.js'
import { Site } from '../support/site.js'
import { importFrom, need, npmPackages } from '../support/toolchain.js'

const VERSION = '0.41.3'
const SITE = 'http://localhost:3000'

interface AuthJs {
  Auth(request: Request, config: object): Promise<Response>
}

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

describe(`Auth.js (@auth/core ${VERSION})`, () => {
  it('signs in with PKCE, state and nonce, and shows the user in its session', async (context) => {
    const packages = await need(context, npmPackages('auth-js', { '@auth/core': VERSION }))
    const { Auth } = await importFrom<AuthJs>(packages, '@auth/core')
    const app = await newConfidentialApp(host.call, {
      redirect_uris: [`${SITE}/auth/callback/farthing`],
      id_token_signed_response_alg: undefined,
    })
    const provider = {
      ...{ id: 'farthing', name: 'farthing', type: 'oidc', issuer: `${host.url}/v4/oidc` },
      ...{ clientId: app.id, clientSecret: app.secret, checks: ['pkce', 'state', 'nonce'] },
    }
    const config = { providers: [provider], secret: 'only this test', trustHost: true, basePath: '/auth' }
    const site = new Site(SITE, (request) => Auth(request, config))

    const { csrfToken } = await (await site.get('/auth/csrf')).json()
    const away = await site.post('/auth/signin/farthing', new URLSearchParams({ csrfToken }))
    const back = await new UserAgent(host).authorize(away.headers.get('location') as string)
    await site.get(back)
    const { user } = await (await site.get('/auth/session')).json()
    expect(user).toEqual({ name: 'ada@example.test', email: 'ada@example.test' })
  })
})
