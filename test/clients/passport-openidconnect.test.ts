import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Passport } from 'passport'
import { Strategy } from 'passport-openidconnect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'
import { newApp } from '../support/scenes/oidc.js'

/** A strategy of Passport: confidential, without PKCE, and with its secret in the body whatever it registered. */

let host: Host
let site: Server
let origin: string
let passport: Passport

beforeAll(async () => {
  host = await startHost()
  site = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://localhost')
    Object.assign(request, { session, query: Object.fromEntries(searchParams) })
    passport.authenticate('farthing', { session: false })(request, response, (error) => {
      response.end(JSON.stringify(error === undefined ? { user: Object(request).user } : { error: String(error) }))
    })
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise((resolve) => site.close(resolve))
  await host.close()
})

/** Of the one browser that visits. */
const session = {}

describe('passport-openidconnect', () => {
  it.each(['client_secret_basic', 'client_secret_post'])('signs a client in that registered %s', async (method) => {
    const callbackURL = `${origin}/callback`
    const issuer = `${host.url}/v4/oidc`
    const app = await newApp(host.call, {
      redirect_uris: [callbackURL],
      token_endpoint_auth_method: method,
      id_token_signed_response_alg: undefined,
    })
    const { body: provider } = await host.call('GET', '/v4/oidc/.well-known/openid-configuration')
    const strategy = new Strategy(
      {
        issuer,
        authorizationURL: provider.authorization_endpoint,
        tokenURL: provider.token_endpoint,
        userInfoURL: provider.userinfo_endpoint,
        clientID: app.id,
        clientSecret: app.secret as string,
        callbackURL,
        scope: ['profile', 'email', 'offline_access'],
        nonce: 'true',
      },
      (iss, { id, displayName, emails }, _context, idToken, _accessToken, refreshToken, done) =>
        done(null, { iss, id, displayName, email: emails[0]?.value, idToken, refreshToken }),
    )
    passport = new Passport().use('farthing', strategy)

    const away = await fetch(`${origin}/login`, { redirect: 'manual' })
    const back = await new UserAgent(host).authorize(away.headers.get('location') as string)
    expect(await (await fetch(back)).json()).toEqual({
      user: {
        iss: issuer,
        id: expect.stringMatching(/^\d+$/),
        displayName: 'ada@example.test',
        email: 'ada@example.test',
        idToken: expect.any(String),
        refreshToken: expect.stringMatching(/^tqmt_/),
      },
    })
  })
})
