import { expect } from 'vitest'
import { UNKNOWN_DQ } from '../../../support/scenes/market.js'
import { newDelegate, newPersona } from '../../../support/scenes/personas.js'
import { anotherPayer, type Scenes, type Shop } from './scene.js'

const payFor = ({ article }: Shop) => `/v4/payment/${article.hash}`

/** A delegate of the reader's that lets the seller spend up to a limit each day. */
async function delegateOf({ call, reader, seller, dq }: Shop, limit: number) {
  const persona = await newPersona(call, reader)
  const hostname = (await call('GET', '/v4/twins', { token: seller.token })).body.twins[0].hostname
  const spend = { party: { client_id: seller.clientId }, dq, limit, period: 'day' }
  return newDelegate(call, { token: reader.token }, { persona: persona.hash, hostname, spend })
}

/** Value that does not move. */
export const paymentScenes = {
  insufficient_funds: {
    async provoke(shop) {
      const { token, hostname } = await anotherPayer(shop, 0.1)
      return {
        request: shop.ask('POST', payFor(shop), { token, body: {} }),
        facts: { payer: { hostname, balance: 0.1, held: 0, spendable: 0.1 }, cost: 0.25, missing: 0.15, dq: shop.dq },
        says: [hostname, 'could spend 0.1', '0.25 USD', '0.15 USD is missing'],
      }
    },
  },
  same_twin: {
    provoke: ({ ask, reader }) => ({
      request: ask('POST', '/v4/transfer', { token: reader.token, body: { address: reader.hostname, amount: 1 } }),
      facts: { hostname: reader.hostname, owner: `user:${reader.id}` },
      says: [reader.hostname, reader.email, 'both payer and payee'],
    }),
  },
  dq_unknown: {
    provoke: ({ ask, seller, article, dq }) => ({
      request: ask('POST', '/v4/commodity', {
        token: seller.token,
        body: { descriptor: 'A', dq: UNKNOWN_DQ, cost: 1, twin_id: article.twinId },
      }),
      facts: { dq: UNKNOWN_DQ, known: [{ dq, shortcode: 'USD', decimals: 3 }] },
      says: [UNKNOWN_DQ, 'USD'],
    }),
  },
  destination_unknown: {
    provoke: ({ ask, reader, seller }) => ({
      request: ask('POST', '/v4/paywall', {
        token: reader.token,
        body: { amount: 1, destination: 'nobody.twin.localhost' },
      }),
      facts: {
        destination: 'nobody.twin.localhost',
        known: expect.arrayContaining([{ hostname: expect.any(String), owner: `account:${seller.id}` }]),
      },
      says: ['No twin had the hostname "nobody.twin.localhost"', 'The twins of sellers were'],
    }),
  },
  price_changed: {
    provoke: (shop) => ({
      request: shop.ask('POST', payFor(shop), { token: shop.reader.token, body: { cost: 0.2 } }),
      facts: { seen: 0.2, price: 0.25, hash: shop.article.hash },
      says: ['The payer saw 0.2', 'NEWS.ARTICLE costs 0.25 USD'],
    }),
  },
  payback_only: {
    async provoke(shop) {
      const { call, ask, seller, article, reader } = shop
      await call('POST', '/_sandbox/fund', { body: { hostname: article.hostname, amount: 5 } })
      await call('PUT', `/v4/commodity/${article.hash}/payback`, { token: seller.token, body: { enabled: true } })
      return {
        request: ask('POST', payFor(shop), { token: reader.token, body: {} }),
        facts: { hash: article.hash, payback: true, seller: `account:${seller.id}` },
        says: ['NEWS.ARTICLE pays its readers 0.25 USD'],
      }
    },
  },
  payback_refused: {
    async provoke({ call, ask, seller, article, reader }) {
      await call('POST', '/_sandbox/fund', { body: { hostname: article.hostname, amount: 5 } })
      return {
        request: ask('POST', `/v4/payback/${article.hash}`, { token: reader.token, body: {} }),
        facts: { hash: article.hash, payback: false, seller: `account:${seller.id}`, item: null },
        says: ['NEWS.ARTICLE of', `account:${seller.id}`, 'does not pay its readers'],
      }
    },
  },
  payback_taken: {
    async provoke({ call, ask, seller, article, reader }) {
      await call('POST', '/_sandbox/fund', { body: { hostname: article.hostname, amount: 5 } })
      await call('PUT', `/v4/commodity/${article.hash}/payback`, { token: seller.token, body: { enabled: true } })
      const path = `/v4/payback/${article.hash}`
      const { id } = (await call('POST', path, { token: reader.token, body: {} })).body
      return {
        request: ask('POST', path, { token: reader.token, body: {} }),
        facts: { hash: article.hash, user: `user:${reader.id}`, payment: id, paid_at: '2031-05-01 12:00:00 UTC' },
        says: [`payment ${id} at 2031-05-01 12:00:00 UTC`, reader.email],
      }
    },
  },
  delegate_required: {
    async provoke(shop) {
      const { hash, persona, issue } = await delegateOf(shop, 0.3)
      const { ask, seller, reader } = shop
      return {
        request: ask('POST', payFor(shop), { token: seller.token, body: {} }),
        facts: { principal: `account:${seller.id}`, delegates: [{ persona, issue, owner: `user:${reader.id}` }] },
        says: [`account:${seller.id} pays for someone else`, persona],
        fill: { persona_delegate: () => hash },
      }
    },
  },
  delegate_refused: {
    async provoke(shop) {
      const { hash, persona, issue } = await delegateOf(shop, 0.3)
      const { call, ask, seller, reader } = shop
      const sent = { token: seller.token, body: { persona_delegate: hash } }
      expect((await call('POST', payFor(shop), sent)).status).toBe(202)
      return {
        request: ask('POST', payFor(shop), sent),
        facts: {
          ...{ persona, issue, owner: `user:${reader.id}`, limit: 0.3, spent: 0.25, left: 0.05, cost: 0.25 },
          period: 'day',
        },
        says: ['spend 0.30 USD each day', '0.25 USD had been spent', 'NEWS.ARTICLE costs 0.25 USD'],
      }
    },
  },
} satisfies Scenes
