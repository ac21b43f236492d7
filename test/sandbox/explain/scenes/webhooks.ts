import { HOOK, newWebhook } from '../../../support/scenes/webhooks.js'
import type { Scenes } from './scene.js'

/** Webhooks of accounts. */
export const webhookScenes = {
  too_many_webhooks: {
    async provoke({ call, ask, seller }) {
      const [first] = await Promise.all(Array.from({ length: 20 }, () => newWebhook(call, seller)))
      return {
        request: ask('POST', '/v4/webhooks', { token: seller.token, body: { url: HOOK, events: ['client.*'] } }),
        facts: { account: seller.id, most: 20, webhooks: Array.from({ length: 20 }, () => ({ url: HOOK })) },
        says: ['has 20 webhooks', `webhook ${first.id}, for ${HOOK}`],
      }
    },
  },
  too_many_streams: {
    async provoke({ service, ask, seller }) {
      const headers = { authorization: `Bearer ${seller.token}`, accept: 'text/event-stream' }
      const open = () => service.fetch(new Request(`${service.baseUrl}/v4/events`, { headers }))
      const opened = await Promise.all(Array.from({ length: 50 }, open))
      return {
        request: ask('GET', '/v4/events', { token: seller.token, headers: { accept: 'text/event-stream' } }),
        facts: { owner: `account:${seller.id}`, most: 50 },
        says: ['had 50 streams open', 'Close one'],
        meanwhile: () => Promise.all(opened.map(({ body }) => body?.cancel())),
        fix: 'none' as const,
      }
    },
  },
  webhook_disabled: {
    async provoke({ call, ask, seller }) {
      const { id } = await newWebhook(call, seller)
      await call('PUT', `/v4/webhooks/${id}`, { token: seller.token, body: { status: 'disabled' } })
      return {
        request: ask('POST', `/v4/webhooks/${id}/test`, { token: seller.token }),
        facts: { webhook: id, url: HOOK, disabled_reason: 'owner' },
        says: [`The webhook ${id} for ${HOOK}`, 'its owner disabled it'],
      }
    },
  },
} satisfies Scenes
