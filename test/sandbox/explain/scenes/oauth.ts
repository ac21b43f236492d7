import { expect } from 'vitest'
import { advance } from '../../../support/scenes/market.js'
import {
  authorization,
  authorizeApp,
  CALLBACK,
  fill,
  newAgent,
  newApp,
  newConfidentialApp,
  startInteraction,
  VERIFIER,
} from '../../../support/scenes/oidc.js'
import { newSession } from '../../../support/scenes/world.js'
import type { Scenes, Shop } from './scene.js'

const TOKEN = '/v4/oidc/token'

/** An app that the reader connected. */
const connected = ({ call, reader }: Shop, options: object = {}) => newAgent(call, { email: reader.email, ...options })

/** The form of an app's request for tokens. */
const grant = (id: string, code: string, more: Record<string, string> = {}) => ({
  grant_type: 'authorization_code',
  ...{ client_id: id, code, redirect_uri: CALLBACK, code_verifier: VERIFIER, ...more },
})

/** OpenID Connect: apps, their codes and their tokens. */
export const oauthScenes = {
  invalid_request: {
    async provoke({ call, ask }) {
      const app = await newApp(call)
      return {
        request: ask('GET', authorization(app, { redirect_uri: 'https://other.example.test/' })),
        facts: {
          client_id: app.id,
          registered: true,
          redirect_uri: 'https://other.example.test/',
          redirect_uris: [CALLBACK],
        },
        says: [app.id, `It registered ${CALLBACK}`, 'https://other.example.test/'],
      }
    },
  },
  'invalid_request (an app of another service)': {
    provoke: ({ ask }) => ({
      request: ask('GET', authorization({ id: 'mid_elsewhere' })),
      facts: { client_id: 'mid_elsewhere', registered: false },
      says: ['No client mid_elsewhere was registered'],
    }),
  },
  invalid_grant: {
    async provoke(shop) {
      const { app, code } = await connected(shop)
      return {
        request: shop.ask('POST', TOKEN, { form: grant(app.id, code) }),
        facts: {
          grant_type: 'authorization_code',
          client_id: app.id,
          last_code: { exchanged: true, redirect_uri: CALLBACK },
        },
        says: [`The last code of the client ${app.id} had been exchanged`, '/v4/oidc/auth'],
        fix: 'none',
      }
    },
  },
  'invalid_grant (another redirect URI)': {
    async provoke({ call, ask, reader }) {
      const redirect_uris = [CALLBACK, `${CALLBACK}/2`]
      const app = await newApp(call, { redirect_uris })
      const { code } = await authorizeApp(call, app, { email: reader.email })
      return {
        request: ask('POST', TOKEN, { form: grant(app.id, code, { redirect_uri: `${CALLBACK}/2` }) }),
        facts: { client_id: app.id, last_code: { exchanged: false, redirect_uri: CALLBACK } },
        says: [`It is for ${CALLBACK}`, `The request sent ${CALLBACK}/2`],
      }
    },
  },
  unauthorized_client: {
    async provoke({ call, ask }) {
      const app = await newApp(call, { grant_types: ['authorization_code'] })
      return {
        request: ask('POST', TOKEN, {
          form: { grant_type: 'refresh_token', refresh_token: 'tqmt_0', client_id: app.id },
        }),
        facts: { client_id: app.id, grant_types: ['authorization_code'], wanted: 'refresh_token' },
        says: [`The client ${app.id} registered the grants authorization_code`, 'refresh_token', 'PUT /v4/oidc/reg'],
        fix: 'none',
      }
    },
  },
  unsupported_grant_type: {
    async provoke(shop) {
      const { app, refreshToken } = await connected(shop)
      return {
        request: shop.ask('POST', TOKEN, {
          form: { grant_type: 'refresh', refresh_token: refreshToken, client_id: app.id },
        }),
        facts: { grant_type: 'refresh', supported: ['authorization_code', 'refresh_token'] },
        says: ['`grant_type=refresh`'],
      }
    },
  },
  invalid_scope: {
    async provoke(shop) {
      const { app, refreshToken } = await connected(shop)
      return {
        request: shop.ask('POST', TOKEN, {
          form: { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: app.id, scope: 'openid admin' },
        }),
        facts: { scope: 'openid admin', granted: expect.arrayContaining(['openid', 'twin']) },
        says: ['the scope "openid admin"', 'The user granted openid'],
      }
    },
  },
  invalid_target: {
    async provoke({ call, ask, reader, service }) {
      const app = await newApp(call)
      const { code } = await authorizeApp(call, app, { email: reader.email })
      return {
        request: ask('POST', TOKEN, { form: grant(app.id, code, { resource: 'https://other.example.test' }) }),
        facts: { resource: 'https://other.example.test', resources: [service.baseUrl, `${service.baseUrl}/mcp`] },
        says: ['"https://other.example.test"', `${service.baseUrl}/mcp`],
      }
    },
  },
  invalid_redirect_uri: {
    provoke: ({ ask }) => ({
      request: ask('POST', '/v4/oidc/reg', { body: { redirect_uris: ['http://shop.example.test/back'] } }),
      facts: { wrong: ['http://shop.example.test/back'] },
      says: ['http://shop.example.test/back cannot be registered', 'https'],
    }),
  },
  invalid_client_metadata: {
    provoke: ({ ask }) => ({
      request: ask('POST', '/v4/oidc/reg', {
        body: { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'private_key_jwt' },
      }),
      facts: { fields: ['token_endpoint_auth_method'], sent: { token_endpoint_auth_method: 'private_key_jwt' } },
      says: ['`token_endpoint_auth_method`: "private_key_jwt"'],
    }),
  },
  invalid_client: {
    async provoke(shop) {
      const { app, refreshToken } = await connected(shop)
      return {
        request: shop.ask('POST', TOKEN, {
          form: { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: app.id, client_secret: 'mc_x' },
        }),
        facts: { client_id: app.id, registered: true, public: true, method: 'none' },
        says: [`The client ${app.id} is public, so it sends no secret`],
      }
    },
  },
  'invalid_client (a wrong secret)': {
    async provoke({ call, ask, reader }) {
      const app = await newConfidentialApp(call, { token_endpoint_auth_method: 'client_secret_post' })
      const { code } = await authorizeApp(call, app, { email: reader.email })
      return {
        request: ask('POST', TOKEN, { form: grant(app.id, code, { client_secret: 'mc_wrong' }) }),
        facts: { client_id: app.id, public: false, method: 'client_secret_post' },
        says: [`The client ${app.id} is confidential`, '`client_secret_post`'],
        fill: { client_secret: () => app.secret ?? '' },
      }
    },
  },
  interaction_expired: {
    async provoke({ call, ask, reader }) {
      const app = await newApp(call)
      const path = await startInteraction(call, app)
      await advance(call, '1h')
      const session = await newSession(call, reader.email)
      return {
        request: ask('GET', path, { session }),
        facts: { client_id: app.id, begun_by: expect.stringMatching(/^req_/), begun_at: '2031-05-01 12:00:00 UTC' },
        says: [`The page for the app ${app.id} was opened at 2031-05-01 12:00:00 UTC by req_`, 'more than an hour old'],
      }
    },
  },
  'interaction_expired (answered)': {
    async provoke({ call, ask, reader }) {
      const app = await newApp(call)
      const path = await startInteraction(call, app)
      const session = await newSession(call, reader.email)
      await fill(call, path, session, { answer: 'deny' })
      return {
        request: ask('GET', path, { session }),
        facts: { client_id: app.id, expires_at: null },
        says: ['It was answered since then', 'Go back to the app'],
      }
    },
  },
  too_many_fetches: {
    async provoke({ call, ask, upstream }) {
      upstream.fetch = async () => new Response('gone', { status: 410 })
      const of = (name: string) => authorization({ id: `https://localhost:1/${name}` })
      for (let n = 0; n < 20; n++) await call('GET', of(`${n}`))
      const id = 'https://localhost:1/last'
      const document = {
        client_id: id,
        client_name: 'Late',
        redirect_uris: [CALLBACK],
        token_endpoint_auth_method: 'none',
      }
      upstream.fetch = async () => Response.json(document)
      return {
        request: ask('GET', of('last')),
        facts: { client_id: id, host: 'localhost', most: 20, retry_after: 60 },
        says: ['20 client documents were fetched from localhost', '60 seconds'],
      }
    },
  },
} satisfies Scenes
