import { advance } from '../../../support/scenes/market.js'
import { askCode, newGuest, verify, wrongCode } from '../../../support/scenes/sign-in.js'
import { send } from '../../../support/scenes/transfers.js'
import { codeIn, type Scenes, type Shop } from './scene.js'

const EMAIL = 'guest@example.test'

/** A guest to whom a code was mailed. */
async function asked(shop: Shop) {
  const session = await newGuest(shop.call)
  await askCode(shop.call, session, EMAIL)
  const code = await codeIn(shop, EMAIL)
  return {
    session,
    code,
    send: (sent: string) => shop.ask('POST', '/v4/session/verify', { session, body: { email: EMAIL, code: sent } }),
    fill: { code: () => codeIn(shop, EMAIL) },
  }
}

/** Users, their addresses, and signing in with a mailed code. */
export const signInScenes = {
  session_required: {
    async provoke(shop) {
      const { code, fill } = await asked(shop)
      const session = await newGuest(shop.call)
      return {
        request: shop.ask('POST', '/v4/session/verify', { session, body: { email: EMAIL, code } }),
        facts: { email: EMAIL, codes: 1 },
        says: [`1 code had been mailed to ${EMAIL}`, 'another session had asked for it'],
        fill,
      }
    },
  },
  code_wrong: {
    async provoke(shop) {
      const { code, send, fill } = await asked(shop)
      return {
        request: send(wrongCode(code)),
        facts: { email: EMAIL, tries: 1, tries_left: 4, expires_at: '2031-05-01 12:10:00 UTC', outbox_code: code },
        says: [`The last code for ${EMAIL}`, '4 of 5 tries are left', code],
        fill,
      }
    },
  },
  code_expired: {
    async provoke(shop) {
      const { code, send, fill } = await asked(shop)
      await advance(shop.call, '10m')
      return {
        request: send(code),
        facts: { email: EMAIL, used: false, expires_at: '2031-05-01 12:10:00 UTC' },
        says: [`The last code for ${EMAIL} ended at 2031-05-01 12:10:00 UTC`, 'within ten minutes'],
        fill,
      }
    },
  },
  too_many_tries: {
    async provoke(shop) {
      const { session, code, send, fill } = await asked(shop)
      for (let n = 0; n < 5; n++) await verify(shop.call, session, EMAIL, wrongCode(code))
      return {
        request: send(code),
        facts: { email: EMAIL, tries: 5, most: 5 },
        says: [`5 wrong codes were entered for the last code of ${EMAIL}`],
        fill,
      }
    },
  },
  'too_many_tries (in a day)': {
    async provoke(shop) {
      for (let n = 0; n < 4; n++) {
        const { session, code } = await asked(shop)
        for (let tries = 0; tries < 5; tries++) await verify(shop.call, session, EMAIL, wrongCode(code))
      }
      const session = await newGuest(shop.call)
      return {
        request: shop.ask('POST', '/v4/session/code', { session, body: { email: EMAIL } }),
        facts: { email: EMAIL, wrong: 20, most: 20, retry_after: 86_400 },
        says: [`20 wrong codes were entered for ${EMAIL} within a day`, '86400 seconds'],
      }
    },
  },
  too_many_codes: {
    async provoke({ call, ask }) {
      const session = await newGuest(call)
      for (let n = 0; n < 5; n++) await askCode(call, session, EMAIL)
      return {
        request: ask('POST', '/v4/session/code', { session, body: { email: EMAIL } }),
        facts: { email: EMAIL, unused: 5, most: 5, retry_after: 900 },
        says: [`5 unused codes had been mailed to ${EMAIL}`, '`limits.codes` is 5', '900 seconds'],
      }
    },
  },
  'too_many_codes (for a network)': {
    async provoke({ askAside }) {
      const body = (n: number) => ({ email: `guest-${n}@example.test` })
      const ask = (n: number) => askAside('POST', '/v4/session/code', { body: body(n) }, { peerAddress: '8.8.8.8' })
      for (let n = 0; n < 50; n++) await ask(n)
      return {
        request: ask(50),
        facts: { client_address: '8.8.8.8', unused: 50, most: 50, retry_after: 900 },
        says: ['50 unused codes had been mailed for 8.8.8.8', '900 seconds'],
      }
    },
  },
  too_many_mails: {
    async provoke(shop) {
      const { call, ask, reader } = shop
      const user = { token: reader.token }
      for (let n = 0; n < 5; n++) await send(call, user, { address: EMAIL, amount: 0.5 })
      return {
        request: ask('POST', '/v4/transfer', { ...user, body: { address: EMAIL, amount: 0.5 } }),
        facts: { retry_after: 900, user: reader.id, full_limits: [{ messages: 5 }] },
        says: ['Five messages of one kind', `user:${reader.id}`, '900 seconds'],
      }
    },
  },
  email_unproven: {
    async provoke({ call, ask, seller, article }) {
      const { body } = await call('POST', '/v4/user', { token: seller.token, body: { email: EMAIL } })
      const [{ client_id, client_secret }] = body.secrets
      const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
      const { access_token } = (await call('POST', '/v4/account/oauth/token', { headers })).body
      await call('POST', '/_sandbox/fund', { body: { hostname: article.hostname, amount: 5 } })
      await call('PUT', `/v4/commodity/${article.hash}/payback`, { token: seller.token, body: { enabled: true } })
      return {
        request: ask('POST', `/v4/payback/${article.hash}`, { token: access_token, body: {} }),
        facts: { user: body.id, email: EMAIL, email_verified_at: null, made_by: seller.id },
        says: [`${EMAIL} had never been proven`, `account:${seller.id} made the user`],
      }
    },
  },
  email_taken: {
    provoke: ({ ask, seller, reader }) => ({
      request: ask('POST', '/v4/user', { token: seller.token, body: { email: reader.email } }),
      facts: { email: reader.email, user: reader.id, created_at: '2031-05-01 12:00:00 UTC' },
      says: [`user:${reader.id} has the address ${reader.email}`, `account:${seller.id}`],
    }),
  },
  account_creation_refused: {
    options: { accountCreation: false },
    isEmpty: true,
    provoke: ({ ask }) => ({
      request: ask('POST', '/v4/account'),
      facts: { accountCreation: false },
      says: ['`accountCreation: false`'],
    }),
  },
  account_creation_failed: {
    provoke: ({ ask, disk }) => ({
      meanwhile: disk.fails(),
      request: ask('POST', '/v4/account'),
      facts: { storage: { transactions: 0 }, caused: [] },
      says: ['The transaction that creates the account was undone'],
    }),
  },
  provisioning_failed: {
    provoke: ({ ask, disk, dq }) => ({
      meanwhile: disk.fails(),
      request: ask('POST', '/v4/account/register', { body: { dq, email: EMAIL } }),
      facts: { storage: { transactions: 0 }, caused: [] },
      says: ['The transaction that creates the account, twin and user was undone'],
    }),
  },
} satisfies Scenes
