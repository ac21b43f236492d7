import { expect } from 'vitest'
import { binderCsv, CSV } from '../../../support/scenes/binders.js'
import { advance, pay } from '../../../support/scenes/market.js'
import { again, send } from '../../../support/scenes/transfers.js'
import { newCommodity } from '../../../support/scenes/world.js'
import type { Scenes, Shop } from './scene.js'

const FRIEND = 'friend@example.test'

/** A payment of the reader's, and the proof of it that the seller validates. */
async function proofOf({ call, reader, article, seller }: Shop) {
  const { id, nonce, timestamp } = await pay(call, reader, article)
  return { id, path: `/v4/payment/${article.hash}/validate`, sent: { token: seller.token, body: { nonce, timestamp } } }
}

/** A transfer of 2.5 to someone who has not signed in yet. */
const invitation = async ({ call, reader }: Shop): Promise<number> =>
  (await send(call, { token: reader.token }, { address: FRIEND, amount: 2.5 })).body.id

/** The same, cancelled before its recipient signs in. */
async function cancelled(shop: Shop) {
  const id = await invitation(shop)
  await shop.call('POST', `/v4/transfers/${id}/cancel`, { token: shop.reader.token })
  const { body } = await shop.call('POST', '/_sandbox/sign-in', { body: { email: FRIEND } })
  return { id, session: body.session_id as string }
}

/** Proofs of payments and of twins, and transfers that wait. */
export const proofScenes = {
  nonce_unknown: {
    async provoke(shop) {
      const { id, sent } = await proofOf(shop)
      const other = await newCommodity(shop.call, shop.seller, { descriptor: 'OTHER.ARTICLE' })
      return {
        request: shop.ask('POST', `/v4/payment/${other.hash}/validate`, sent),
        facts: { hash: other.hash, payments: [], elsewhere: { id, hash: shop.article.hash } },
        says: ['OTHER.ARTICLE had 0 payments', `for the commodity ${shop.article.hash}`],
      }
    },
  },
  nonce_used: {
    async provoke(shop) {
      const { id, path, sent } = await proofOf(shop)
      const used = await shop.call('POST', path, sent)
      const by = used.headers.get('x-request-id')
      return {
        request: shop.ask('POST', path, sent),
        facts: { used_by: by, used_at: '2031-05-01 12:00:00 UTC', payment: { id, payer: `user:${shop.reader.id}` } },
        says: [`payment ${id} was validated at 2031-05-01 12:00:00 UTC by ${by}`],
      }
    },
  },
  nonce_expired: {
    async provoke(shop) {
      const { id, path, sent } = await proofOf(shop)
      await advance(shop.call, '16m')
      return {
        request: shop.ask('POST', path, sent),
        facts: { nonce_seconds: 900, expires_at: '2031-05-01 12:15:00 UTC', payment: { id } },
        says: [`payment ${id} ended at 2031-05-01 12:15:00 UTC, 1 minute before`, '900 seconds'],
      }
    },
  },
  twin_nonce_refused: {
    async provoke({ call, ask, reader, seller }) {
      const body = { hostname: reader.hostname }
      const { nonce } = (await call('POST', '/v2/twin/nonce', { token: reader.token, body })).body
      const sent = { token: seller.token, body: { ...body, nonce } }
      expect((await call('PUT', '/v2/twin/nonce', sent)).status).toBe(200)
      return {
        request: ask('PUT', '/v2/twin/nonce', sent),
        facts: { hostname: reader.hostname, owner: `user:${reader.id}`, unused: 0 },
        says: [reader.hostname, reader.email, '0 unused nonces', 'five minutes'],
      }
    },
  },
  not_invited: {
    async provoke(shop) {
      const { ask, reader } = shop
      const id = await invitation(shop)
      return {
        request: ask('POST', `/v4/transfers/${id}/claim`, { token: reader.token }),
        facts: { transfer: id, address: FRIEND, sender: `user:${reader.id}`, status: 'invited' },
        says: [`Transfer ${id} of 2.50 USD`, `to ${FRIEND}`, `user:${reader.id} sent it`, 'claims the transfer'],
      }
    },
  },
  transfer_settled: {
    async provoke(shop) {
      const { ask, reader } = shop
      const { id, session } = await cancelled(shop)
      return {
        request: ask('POST', `/v4/transfers/${id}/claim`, { session }),
        facts: { transfer: id, status: 'cancelled', address: FRIEND, sender: `user:${reader.id}` },
        says: [`Transfer ${id} of 2.50 USD`, `to ${FRIEND} was \`cancelled\``],
      }
    },
  },
  'transfer_settled (cancelled twice)': {
    async provoke(shop) {
      const { id } = await cancelled(shop)
      return {
        request: shop.ask('POST', `/v4/transfers/${id}/cancel`, { token: shop.reader.token }),
        facts: { transfer: id, status: 'cancelled' },
        says: [`to ${FRIEND} was \`cancelled\``, 'Nothing is left to cancel'],
        fix: 'none',
      }
    },
  },
  transfer_expired: {
    async provoke(shop) {
      const { call, know, ask, reader } = shop
      const id = await invitation(shop)
      await advance(call, '31d')
      const { body } = await call('POST', '/_sandbox/sign-in', { body: { email: FRIEND } })
      know('user', await again(call, reader))
      return {
        request: ask('POST', `/v4/transfers/${id}/claim`, { session: body.session_id }),
        facts: { transfer: id, status: 'expired', address: FRIEND, sender: `user:${reader.id}` },
        says: [`Transfer ${id} of 2.50 USD`, reader.email, 'was `expired`'],
      }
    },
  },
  binder_refused: {
    provoke: ({ ask, reader }) => ({
      request: ask('POST', `/_sandbox/twins/${reader.hostname}/binder`, { raw: binderCsv([]), headers: CSV }),
      facts: { hostname: reader.hostname, owner: `user:${reader.id}`, balances: [{ amount: 10 }] },
      says: [reader.hostname, '10.00 USD'],
    }),
  },
} satisfies Scenes
