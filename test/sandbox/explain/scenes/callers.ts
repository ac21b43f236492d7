import { expect } from 'vitest'
import { advance } from '../../../support/scenes/market.js'
import { newAgent } from '../../../support/scenes/oidc.js'
import { basic, newSession } from '../../../support/scenes/world.js'
import { anotherSeller, type Scenes, type Shop } from './scene.js'

const PAGE = 'https://shop.example.test'

const payFor = ({ article }: Shop) => `/v4/payment/${article.hash}`

/** Who calls, and by what credential. */
export const callerScenes = {
  authorization_missing: {
    provoke: (shop) => ({
      request: shop.ask('POST', payFor(shop), { body: {} }),
      facts: { sent: [], accepted: expect.arrayContaining(['user', 'session']) },
      says: ['no Authorization header and no session', 'createPayment takes', 'the token of a user'],
    }),
  },
  'authorization_missing (JSON as a form)': {
    provoke: ({ ask, article }) => ({
      request: ask('POST', '/v4/commodity', {
        raw: JSON.stringify({ descriptor: 'FORM', dq: article.dq, cost: 1, twin_id: article.twinId }),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
      facts: { sent: [], accepted: expect.arrayContaining(['account']) },
      says: ['no Authorization header', 'createCommodity takes'],
    }),
  },
  credentials_missing: {
    provoke: ({ ask, seller }) => ({
      request: ask('POST', '/v4/account/oauth/token'),
      facts: { owner: `account:${seller.id}`, client_id: seller.clientId },
      says: [`account:${seller.id} has the client id ${seller.clientId}`],
    }),
  },
  scheme_refused: {
    provoke: ({ ask, seller }) => ({
      request: ask('POST', '/v4/account/oauth/token', { headers: { authorization: 'Digest username=a' } }),
      facts: { scheme: 'Digest', schemes: ['Basic', 'Bearer'], owner: `account:${seller.id}` },
      says: ['takes Basic with client credentials', 'sent the scheme Digest'],
    }),
  },
  client_unknown: {
    provoke: ({ ask, seller }) => ({
      request: ask('POST', '/v4/account/oauth/token', { headers: basic(seller.clientId, 'wrong') }),
      facts: { client_id: seller.clientId, owner: `account:${seller.id}`, revoked_at: null },
      says: [`The client ${seller.clientId} is of account:${seller.id}`, 'its secret was wrong'],
    }),
  },
  token_invalid: {
    async provoke(shop) {
      await advance(shop.call, '2h')
      return {
        request: shop.ask('POST', payFor(shop), { token: shop.reader.token, body: {} }),
        facts: {
          ended: expect.arrayContaining([{ owner: `user:${shop.reader.id}`, ended_at: '2031-05-01 13:00:00 UTC' }]),
        },
        says: [shop.reader.email, 'had ended at 2031-05-01 13:00:00 UTC', 'last an hour'],
      }
    },
  },
  refresh_token_invalid: {
    async provoke({ call, ask, seller }) {
      const pair = await call('POST', '/v4/account/oauth/token', {
        headers: basic(seller.clientId, seller.clientSecret),
      })
      const headers = { authorization: `Bearer ${pair.body.refresh_token}` }
      expect((await call('POST', '/v4/account/oauth/token', { headers })).status).toBe(200)
      return {
        request: ask('POST', '/v4/account/oauth/token', { headers }),
        facts: { used: 1, owner: `account:${seller.id}` },
        says: ['1 refresh token of this kind had been used', 'Each works once'],
      }
    },
  },
  agent_token_required: {
    provoke: ({ ask, reader }) => ({
      request: ask('GET', '/v4/agent/account', { token: reader.token }),
      facts: { principal: `user:${reader.id}`, accepted: ['agent'] },
      says: [reader.email, 'the token of an app that a user connected', '/v4/oidc/reg', '/v4/oidc/auth'],
      fix: 'none',
    }),
  },
  bearer_required: {
    provoke: ({ ask, seller }) => ({
      request: ask('GET', '/v4/commodities', { headers: basic(seller.clientId, seller.clientSecret) }),
      facts: { sent: ['authorization'], scheme: 'Basic', accepted: expect.arrayContaining(['account']) },
      says: ['sent the scheme Basic', 'listCommodities takes the token of an account'],
    }),
  },
  public_secret_unknown: {
    provoke: ({ ask, seller, article }) => ({
      request: ask('GET', `/v4/twin/${article.hostname}?public_secret=mp_unknown`),
      facts: { public_secrets: [{ account: seller.id, public_secret: seller.publicSecret }] },
      says: [`account:${seller.id}`, 'has this secret'],
    }),
  },
  session_conflict: {
    async provoke(shop) {
      const [session, other] = [await newSession(shop.call, shop.reader.email), `ms_${'0'.repeat(32)}`]
      return {
        request: shop.ask('POST', payFor(shop), { session, body: {}, headers: { cookie: `session_id=${other}` } }),
        facts: { sent: ['x-session-id', 'cookie'] },
        says: ['named different sessions'],
        fill: { 'x-session-id': () => session },
      }
    },
  },
  sign_in_required: {
    provoke: (shop) => ({
      request: shop.ask('POST', payFor(shop), { session: `ms_${'0'.repeat(32)}`, body: {} }),
      facts: { sent: ['x-session-id'], newest_session: { user: shop.reader.id } },
      says: ['a session in which nobody was signed in', shop.reader.email],
    }),
  },
  page_refused: {
    async provoke(shop) {
      const { call, ask, reader, article } = shop
      const own = await newSession(call, reader.email)
      const body = { hash: article.hash, origin: PAGE }
      const { session_id } = (await call('POST', '/v4/session/page', { session: own, body })).body
      return {
        request: ask('GET', '/v4/session', { session: session_id, headers: { origin: 'https://other.example.test' } }),
        facts: { origin: 'https://other.example.test', origins: [PAGE] },
        says: ['from https://other.example.test', `for ${PAGE}`],
      }
    },
  },
  wrong_principal: {
    provoke: ({ ask, seller }) => ({
      request: ask('GET', '/v4/approvals', { token: seller.token }),
      facts: { principal: `account:${seller.id}`, accepted: expect.arrayContaining(['user']) },
      says: [`account:${seller.id} called`, 'the token of a user'],
    }),
  },
  not_an_account: {
    provoke: ({ ask, reader, seller }) => ({
      request: ask('GET', '/v4/commodities', { token: reader.token }),
      facts: { principal: `user:${reader.id}`, account: seller.id },
      says: [reader.email, 'only an account may do this', `account:${seller.id}`],
    }),
  },
  cross_site: {
    async provoke(shop) {
      const session = await newSession(shop.call, shop.reader.email)
      const headers = { cookie: `session_id=${session}`, origin: 'https://other.example.test' }
      return {
        request: shop.ask('POST', payFor(shop), { body: {}, headers }),
        facts: { origin: 'https://other.example.test', base_url: shop.service.baseUrl },
        says: ['from https://other.example.test with only the session cookie', 'X-Session-ID'],
        fill: { 'x-session-id': () => session },
      }
    },
  },
  insufficient_scope: {
    async provoke({ call, ask, reader }) {
      const { accessToken } = await newAgent(call, { email: reader.email, scope: 'openid email' })
      return {
        request: ask('POST', '/v4/agent/approvals', { token: accessToken, body: { kind: 'transfer' } }),
        facts: { needed: 'twin', granted: expect.arrayContaining(['openid', 'email']), client_id: expect.any(String) },
        says: ['needs the scope `twin`', '`openid`', reader.email, '/v4/oidc/auth'],
        fix: 'none',
      }
    },
  },
  too_many_failures: {
    async provoke(shop) {
      const { call, ask } = shop
      const { clientId } = await anotherSeller(shop)
      const path = '/v4/account/oauth/token'
      for (let n = 0; n < 20; n++) await call('POST', path, { headers: basic(clientId, 'wrong') })
      return {
        request: ask('POST', path, { headers: basic(clientId, 'wrong') }),
        facts: { client_id: clientId, wrong: 20, retry_after: 60 },
        says: [`20 wrong secrets came for ${clientId} within a minute`, 'The right secret is accepted at once'],
      }
    },
  },
} satisfies Scenes
