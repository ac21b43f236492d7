import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { WebhookMessageRow } from '../../src/base/message.js'
import { systemRandom } from '../../src/base/ports.js'
import type { ServiceContext } from '../../src/http/context.js'
import { type EventRow, events } from '../../src/jobs/events/event.js'
import { outbox } from '../../src/jobs/outbox/outbox.js'
import {
  deleteWebhook,
  disableWebhook,
  listWebhookDeliveries,
  postDelivery,
  testWebhook,
} from '../../src/jobs/webhooks/webhook.js'
import {
  type WebhookDeliveryRow,
  type WebhookRow,
  webhookDeliveries,
  webhooks,
} from '../../src/jobs/webhooks/webhook-row.js'

const AT = Date.UTC(2031, 4, 1)

const webhook: WebhookRow = {
  ...{ id: 7, account_id: 1, url: 'https://hook.example.test/in?token=secret', description: null, events: ['*'] },
  ...{ status: 'enabled', disabled_reason: null, term: 2, after_event: 0, secret: 's', former_secret: null },
  ...{ former_until: null, created_at: AT, updated_at: AT },
}

async function started(of: Partial<WebhookRow> = {}) {
  const storage = memoryStorage()
  await storage.write(async (tx) => tx.put(webhooks, { ...webhook, ...of }))
  const service = { random: systemRandom } as ServiceContext // As much of it as webhooks need.
  return { storage, service }
}

test('the log says which webhook ended, why, and not the secrets of its URL', async () => {
  for (const reason of ['failing', 'gone'] as const) {
    const { storage } = await started()
    const disable = () => storage.write((tx) => disableWebhook(tx, { ...webhook }, { reason, at: AT }))
    expect(await disable()).toBe(true)
    const row = await storage.read((tx) => tx.get(webhooks, 7))
    expect(row).toEqual({ ...webhook, status: 'disabled', disabled_reason: reason })
    expect(await storage.write(async (tx) => row && disableWebhook(tx, row, { reason, at: AT }))).toBe(false)
    await storage.write((tx) => deleteWebhook(tx, 7, { accountId: 1, at: AT }))
    const found: EventRow[] = await storage.read((tx) => tx.find(events, { index: 'id', prefix: [], limit: 9 }))
    const data = { url: 'https://hook.example.test/in', reason }
    const of = { owner: 'account:1', other: null, subject: 'webhook:7', data, created_at: AT }
    expect(found).toMatchObject([
      { ...of, type: 'webhook.disabled', actor: 'service' },
      { ...of, type: 'webhook.deleted', actor: 'account:1' },
    ])
  }
  const { storage } = await started()
  await storage.write((tx) => deleteWebhook(tx, 7, { accountId: 1, at: AT }))
  const [{ data } = { data: {} }] = await storage.read((tx) => tx.find(events, { index: 'id', prefix: [], limit: 9 }))
  expect(data).toEqual({ url: 'https://hook.example.test/in' })
})

type Case = [
  Partial<WebhookDeliveryRow>,
  Partial<WebhookMessageRow> | null,
  Partial<WebhookRow>,
  shown: [string, number | null],
]
const cases: readonly Case[] = [
  [{}, {}, {}, ['pending', AT / 1000]],
  [{}, { due_at: null, waits_since: AT - 5000 }, {}, ['pending', AT / 1000 - 5]],
  [{}, null, {}, ['cancelled', null]],
  [{}, { status: 'failed', due_at: null }, {}, ['cancelled', null]],
  [{}, { status: 'sent', due_at: null }, {}, ['cancelled', null]],
  [{}, {}, { term: 3 }, ['cancelled', null]],
  [{}, {}, { status: 'disabled' }, ['cancelled', null]],
  [{ status: 'succeeded' }, { status: 'sent', due_at: null }, {}, ['succeeded', null]],
  [{ status: 'succeeded' }, {}, {}, ['succeeded', null]],
  [{ status: 'failed' }, {}, { status: 'disabled' }, ['failed', null]],
]

test.each(cases)(
  'a delivery %j with the message %j of the webhook %j is shown as %j',
  async (delivery, message, of, shown) => {
    const { storage, service } = await started(of)
    const event = { id: 3, type: 'client.a', created_at: AT } as const
    await storage.write(async (tx) => {
      const posted = postDelivery(tx, { webhook, event, ids: [5, 6], at: AT }, service)
      tx.put(webhookDeliveries, { ...posted, ...delivery })
      const sent = await tx.get(outbox, 6)
      if (sent && message) tx.put(outbox, { ...sent, ...message } as WebhookMessageRow)
      else tx.remove(outbox, 6)
    })
    const { deliveries, next } = await storage.read((tx) => listWebhookDeliveries(tx, 7, { accountId: 1 }))
    expect(next).toBeNull()
    expect(deliveries.map(({ id, event_id, status, next_try_at }) => [id, event_id, status, next_try_at])).toEqual([
      [5, 3, ...shown],
    ])
  },
)

test('each test of a webhook is an event, a delivery and a message of its own, for its account alone', async () => {
  const { storage, service } = await started()
  const sent = () => storage.write((tx) => testWebhook(tx, 7, { accountId: 1, at: AT }, service))
  const shown = [await sent(), await sent()]
  expect(new Set(shown.map(({ id }) => id)).size).toBe(2)
  const { rows } = await storage.export()
  const deliveries = rows.webhook_deliveries as unknown as WebhookDeliveryRow[]
  const messages = rows.outbox as unknown as WebhookMessageRow[]
  expect(deliveries.map(({ id, event_id, is_test }) => [id, event_id, is_test])).toEqual(
    shown.map(({ id, event_id }) => [id, event_id, true]),
  )
  expect(messages.map(({ id, delivery_id }) => [id, delivery_id])).toEqual(
    deliveries.map(({ id, outbox_id }) => [outbox_id, id]),
  )
  for (const of of [{ accountId: 2 }, { accountId: 1, id: 8 }]) {
    const refused = storage.write((tx) => testWebhook(tx, of.id ?? 7, { accountId: of.accountId, at: AT }, service))
    await expect(refused).rejects.toMatchObject({ code: 'not_found' })
  }
})
