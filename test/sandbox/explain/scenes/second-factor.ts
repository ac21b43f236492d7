import { expect } from 'vitest'
import { advance } from '../../../support/scenes/market.js'
import { askedAuthorization, setPhone } from '../../../support/scenes/paywall.js'
import { answerLink, ask as askFor, mailedLink, registerDevice } from '../../../support/scenes/second-factor.js'
import { newSession } from '../../../support/scenes/world.js'
import type { Scenes, Shop } from './scene.js'

const DEVICE = 'device-token'
const PATH = '/v4/paywall/authorizations'

/** The reader's session and device, on which the phone of the sandbox answers so. */
async function onDevice({ call, reader }: Shop, phone = 'manual') {
  const session = await newSession(call, reader.email)
  await registerDevice(call, { token: reader.token })
  await setPhone(call, reader, phone)
  return session
}

/** The session of the paywall's own clients pays the seller, which the reader must approve. */
async function payMerchant(shop: Shop, phone: string) {
  const { call, ask, reader, article, dq } = shop
  await onDevice(shop, phone)
  const { session_id } = (await call('POST', '/v3/session', { token: reader.token })).body
  const body = { paymentTypeHash: dq, amount: 2, destinationUrl: article.hostname }
  return ask('POST', '/v3/paywall', { session: session_id, body })
}

/** A request of a paywall that the reader must answer. */
const requested = async ({ call, reader }: Shop): Promise<number> => {
  const detail = { merchant_url: 'https://shop.example.test/', merchant_name: 'A shop', dq: '41ab', amount: 0.5 }
  return (await askFor(call, { token: reader.token }, { action: 'paywall', detail })).body.id
}

/** What a person must confirm on a device or behind a mailed link. */
export const secondFactorScenes = {
  rejected: {
    async provoke(shop) {
      const session = await onDevice(shop, 'reject')
      const { ask, reader, article } = shop
      return {
        request: ask('POST', '/v4/paywall', { session, body: { amount: 2, destination: article.hostname } }),
        facts: {
          user: reader.id,
          status: 'rejected',
          devices: 1,
          phone: 'reject',
          answered_at: '2031-05-01 12:00:00 UTC',
        },
        says: ['asked user:', 'was rejected at 2031-05-01 12:00:00 UTC', '1 device', 'set to `reject`'],
      }
    },
  },
  payment_denied: {
    provoke: (shop) => ({
      request: payMerchant(shop, 'reject'),
      facts: { user: shop.reader.id, status: 'rejected', phone: 'reject' },
      says: ['was rejected at 2031-05-01 12:00:00 UTC', 'set to `reject`'],
    }),
  },
  approval_timeout: {
    async provoke(shop) {
      const waiting = payMerchant(shop, 'ignore')
      await askedAuthorization(shop.call, shop.reader)
      await advance(shop.call, '30s')
      return {
        request: waiting,
        facts: { user: shop.reader.id, status: 'expired', phone: 'ignore', expires_at: '2031-05-01 12:00:30 UTC' },
        says: ['12:00:30 UTC', 'set to `ignore`'],
      }
    },
  },
  self_approval: {
    async provoke(shop) {
      const session = await onDevice(shop)
      const { id } = (await askFor(shop.call, { session })).body
      return {
        request: shop.ask('POST', `/v4/authentication-requests/${id}/approve`, {
          session,
          headers: { 'x-device-token': DEVICE },
        }),
        facts: { request: id, action: 'transfer', request_status: 'pending', asked_at: '2031-05-01 12:00:00 UTC' },
        says: [`The authentication request ${id}`, 'The session that asked sent the answer'],
      }
    },
  },
  device_refused: {
    async provoke(shop) {
      await onDevice(shop)
      const user = { token: shop.reader.token }
      const { id } = (await askFor(shop.call, user)).body
      return {
        request: shop.ask('POST', `/v4/authentication-requests/${id}/reject`, {
          ...user,
          headers: { 'x-device-token': 'unknown' },
        }),
        facts: { request: id, devices: [expect.any(Number)], sent_token: true },
        says: [`The authentication request ${id}`, 'can answer it', 'X-Device-Token'],
      }
    },
  },
  too_many_devices: {
    async provoke({ call, ask, reader }) {
      const user = { token: reader.token }
      for (let n = 0; n < 20; n++) await registerDevice(call, user, `token-${n}`, { from: 'token-0' })
      return {
        request: ask('POST', '/v4/notifications/registrations', {
          ...user,
          headers: { 'x-device-token': 'token-9' },
          body: { platform: 'web', token: 'another' },
        }),
        facts: { user: reader.id, devices: 20, most: 20 },
        says: [reader.email, 'has 20 devices', 'registered at 2031-05-01 12:00:00 UTC'],
        fill: { 'x-device-token': () => 'token-9' },
      }
    },
  },
  link_early: {
    async provoke({ call, ask, reader }) {
      await registerDevice(call, { token: reader.token })
      const device = await registerDevice(call, { token: reader.token }, 'new-token')
      const { messages } = (await call('GET', `/_sandbox/outbox?to=${reader.email}&kind=mail`)).body
      const links = messages.flatMap((mail: { links: string[] }) => mail.links)
      const [path, query] = links
        .find((link: string) => link.includes('/registrations/'))
        .split('/v4/')[1]
        .split('?')
      const token = new URLSearchParams(query).get('token') ?? ''
      return {
        request: ask('POST', `/v4/${path}`, { form: { token, answer: 'confirm' } }),
        facts: { device, change: 'add', link_from: '2031-05-02 12:00:00 UTC' },
        says: [`device ${device} confirms from 2031-05-02 12:00:00 UTC on`],
      }
    },
  },
  link_expired: {
    async provoke({ call, ask, reader }) {
      const { id } = (await askFor(call, { token: reader.token })).body
      const link = await mailedLink(call, reader.email)
      await answerLink(call, link, 'reject')
      return {
        request: ask('POST', link.path.split('?')[0] ?? '', { form: { token: link.token, answer: 'approve' } }),
        facts: { request: id, request_status: 'rejected', answered_at: '2031-05-01 12:00:00 UTC' },
        says: [`The authentication request ${id}`, 'was rejected at 2031-05-01 12:00:00 UTC', 'Start again'],
        fix: 'none',
      }
    },
  },
  authorization_answered: {
    async provoke(shop) {
      const { call, ask, reader } = shop
      await onDevice(shop)
      const user = { token: reader.token }
      const id = await requested(shop)
      await call('PUT', PATH, { ...user, body: { authorizationId: id, approved: false } })
      return {
        request: ask('PUT', PATH, { ...user, body: { authorizationId: id, approved: true } }),
        facts: { request: id, action: 'paywall', request_status: 'rejected', answered_at: '2031-05-01 12:00:00 UTC' },
        says: [`The authentication request ${id}`, 'was rejected at 2031-05-01 12:00:00 UTC', 'A new payment asks'],
        fix: 'none',
      }
    },
  },
  authorization_expired: {
    async provoke(shop) {
      const { call, ask, reader } = shop
      await onDevice(shop)
      const id = await requested(shop)
      await advance(call, '30s')
      return {
        request: ask('PUT', PATH, { token: reader.token, body: { authorizationId: id, approved: true } }),
        facts: { request: id, request_status: 'expired', expires_at: '2031-05-01 12:00:30 UTC' },
        says: [`The authentication request ${id}`, 'ended at 2031-05-01 12:00:30 UTC', 'A new payment asks'],
        fix: 'none',
      }
    },
  },
} satisfies Scenes
