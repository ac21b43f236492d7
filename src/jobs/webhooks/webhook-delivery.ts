import type { OutboxRow } from '../../base/message.js'
import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { getOrNotFound } from '../../storage/existing.js'
import { newestFirst } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type EventRow, events, putEvent } from '../events/event.js'
import { outbox, postWebhook } from '../outbox/outbox.js'
import { ownWebhook } from './webhook.js'
import { type WebhookDeliveryRow, type WebhookRow, webhookDeliveries } from './webhook-row.js'

type DeliveredEvent = Pick<EventRow, 'id' | 'type' | 'created_at'>

interface NewDelivery {
  readonly webhook: WebhookRow
  readonly event: DeliveredEvent
  /** Numbers of the counters `webhook_deliveries` and `outbox`. */
  readonly ids: readonly [id: number, outboxId: number]
  readonly at: number
  readonly isTest?: boolean
}

/** Writes a delivery of an event to a webhook, and its message. */
export function postDelivery(
  tx: Writer,
  { webhook, event, ids: [id, outboxId], at, isTest = false }: NewDelivery,
  { random }: Pick<ServiceContext, 'random'>,
): WebhookDeliveryRow {
  const delivery: WebhookDeliveryRow = {
    id,
    webhook_id: webhook.id,
    event_id: event.id,
    event_at: event.created_at,
    type: event.type,
    message_id: `msg_${randomHex(random, 16)}`,
    term: webhook.term,
    status: 'pending',
    tries: [],
    outbox_id: outboxId,
    is_test: isTest,
    created_at: at,
  }
  tx.put(webhookDeliveries, delivery)
  const { id: webhookId, account_id: accountId, url } = webhook
  postWebhook(tx, outboxId, { webhookId, deliveryId: id, accountId, url, type: event.type, at })
  return delivery
}

/** Whether a delivery is still wanted: its webhook has not been deleted or disabled since. */
export const isWanted = ({ term }: WebhookDeliveryRow, webhook: WebhookRow): boolean =>
  webhook.status === 'enabled' && webhook.term === term

function showDelivery(delivery: WebhookDeliveryRow, webhook: WebhookRow, message: OutboxRow | undefined) {
  const isPending = delivery.status === 'pending' && message?.status === 'pending' && isWanted(delivery, webhook)
  const due = message && (message.due_at ?? message.waits_since)
  return {
    id: delivery.id,
    message_id: delivery.message_id,
    event_id: delivery.event_id,
    type: delivery.type,
    status: delivery.status === 'pending' && !isPending ? ('cancelled' as const) : delivery.status,
    tries: delivery.tries.map(({ at, ...tried }) => ({ at: seconds(at), ...tried })),
    next_try_at: isPending && typeof due === 'number' ? seconds(due) : null,
    created_at: seconds(delivery.created_at),
  }
}

type Listing = { readonly accountId: number; readonly limit?: number | undefined; readonly after?: number | undefined }

/** A page of a webhook's deliveries, newest first. Throws `not_found`, `cursor_invalid`. */
export async function listWebhookDeliveries(tx: Reader, id: number, { accountId, ...page }: Listing) {
  const webhook = await ownWebhook(tx, id, accountId)
  const { rows, next } = await newestFirst(tx, webhookDeliveries, { index: 'byWebhook', prefix: [id], ...page })
  const messages = await tx.getMany(
    outbox,
    rows.map(({ outbox_id }) => outbox_id),
  )
  return { deliveries: rows.map((row, i) => showDelivery(row, webhook, messages[i])), next }
}

type Acting = { readonly accountId: number; readonly at: number }

/** Sends an event of the type `webhook.test` to a webhook, once. Throws `not_found`, `webhook_disabled`. */
export async function testWebhook(
  tx: Writer,
  id: number,
  { accountId, at }: Acting,
  service: Pick<ServiceContext, 'random'>,
) {
  const webhook = await enabledWebhook(tx, id, accountId)
  const owner = `account:${accountId}` as const
  const test = { owners: [owner], type: 'webhook.test', actor: owner, subject: `webhook:${id}`, data: {}, at } as const
  const event = await putEvent(tx, test)
  const [deliveryId = 0, outboxId = 0] = await tx.nextIds(['webhook_deliveries', 'outbox'])
  const delivery = postDelivery(tx, { webhook, event, ids: [deliveryId, outboxId], at, isTest: true }, service)
  return showDelivery(delivery, webhook, await tx.get(outbox, outboxId))
}

/**
 * Sends an event to a webhook again, under the same `webhook-id` and with all retries. Throws `not_found` if the event is
 * no longer kept, and `webhook_disabled`.
 */
export async function redeliverWebhook(
  tx: Writer,
  { id, delivery: deliveryId }: { readonly id: number; readonly delivery: number },
  { accountId, at }: Acting,
) {
  const webhook = await enabledWebhook(tx, id, accountId)
  const delivery = await getOrNotFound(tx, webhookDeliveries, deliveryId, { webhook_id: id })
  await getOrNotFound(tx, events, delivery.event_id)
  const outboxId = await tx.nextId('outbox')
  const again: WebhookDeliveryRow = { ...delivery, status: 'pending', term: webhook.term, outbox_id: outboxId }
  tx.put(webhookDeliveries, again)
  postWebhook(tx, outboxId, {
    webhookId: id,
    deliveryId,
    accountId: webhook.account_id,
    url: webhook.url,
    type: delivery.type,
    at,
  })
  return showDelivery(again, webhook, await tx.get(outbox, outboxId))
}

async function enabledWebhook(tx: Reader, id: number, accountId: number): Promise<WebhookRow> {
  const webhook = await ownWebhook(tx, id, accountId)
  if (webhook.status === 'disabled') throw problem('webhook_disabled')
  return webhook
}
