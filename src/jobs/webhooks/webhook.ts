import type { OutboxRow } from '../../base/message.js'
import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { getOrNotFound, newestFirst } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type EventRow, events, putEvent, recordEvent } from '../events/event.js'
import { checkEventPatterns, type EventType } from '../events/event-types.js'
import { outbox, postWebhook } from '../outbox/outbox.js'
import { checkUpstreamUrl, type UpstreamPolicy } from '../upstream/policy.js'
import { newSecretOf, publicKeyOf, type SignatureKind, signatureKindOf } from './signature.js'
import {
  type DisabledReason,
  PROGRESS,
  type WebhookDeliveryRow,
  type WebhookRow,
  webhookDeliveries,
  webhookProgress,
  webhooks,
} from './webhook-row.js'

/** How many webhooks an account may have. */
export const MOST_WEBHOOKS = 20

/** How long the secret before a rotation signs too. */
const OVERLAP_MS = DAY

export function showWebhook(webhook: WebhookRow, at: number) {
  const { id, url, description, events, secret, status, disabled_reason } = webhook
  return {
    ...{ id, url, description, events, signature: signatureKindOf(secret), public_key: publicKeyOf(secret) },
    ...{ status, disabled_reason },
    former_secret_until: isFormerSecretCurrent(webhook, at) ? seconds(webhook.former_until) : null,
    created_at: seconds(webhook.created_at),
    updated_at: seconds(webhook.updated_at),
  }
}

/** A webhook with its secret, which only its creation and its rotation show. Nobody ever sees a private key. */
const showSecret = (webhook: WebhookRow, at: number) => ({
  ...showWebhook(webhook, at),
  secret: signatureKindOf(webhook.secret) === 'hmac-sha256' ? webhook.secret : null,
})

const isFormerSecretCurrent = (webhook: WebhookRow, at: number): webhook is WebhookRow & { former_until: number } =>
  webhook.former_until !== null && webhook.former_until > at && webhook.former_until <= at + OVERLAP_MS

/** The secrets that sign now, the latest first. Empty if another key encrypted them. */
export const currentSecrets = (webhook: WebhookRow, at: number): string[] => {
  const former = isFormerSecretCurrent(webhook, at) ? (webhook.former_secret ?? '') : ''
  return [webhook.secret, former].filter((secret) => secret !== '')
}

/** The fields that the owner of a webhook sets. A change leaves those as they are that it leaves out. */
interface WebhookFields {
  readonly url?: string | undefined
  readonly events?: readonly string[] | undefined
  readonly description?: string | null | undefined
}

type Acting = { readonly accountId: number; readonly at: number }
type NewWebhook = WebhookFields & Pick<WebhookRow, 'url' | 'events'> & Signing & Acting
type Signing = { readonly signature?: SignatureKind | undefined }
type Making = UpstreamPolicy & Pick<ServiceContext, 'random'>

/** Creates a webhook. Throws `upstream_refused`, `field_invalid`, `too_many_webhooks`. */
export async function createWebhook(tx: Writer, given: NewWebhook, { random, ...policy }: Making) {
  const { url, events: patterns, description, signature = 'hmac-sha256', accountId, at } = given
  checkEventPatterns(patterns)
  const own = await webhooksOf(tx, accountId)
  if (own.length >= MOST_WEBHOOKS) throw problem('too_many_webhooks')
  const webhook: WebhookRow = {
    id: await tx.nextId('webhooks'),
    account_id: accountId,
    url: checkUpstreamUrl(url, policy).href,
    description: description ?? null,
    events: [...new Set(patterns)],
    status: 'enabled',
    disabled_reason: null,
    term: 1,
    after_event: await enterLog(tx, at),
    secret: await newSecretOf(signature, random),
    former_secret: null,
    former_until: null,
    created_at: at,
    updated_at: at,
  }
  tx.put(webhooks, webhook)
  await recordWebhookEvent(tx, webhook, { type: 'webhook.created', at })
  return showSecret(webhook, at)
}

/**
 * Returns the id of the newest event: a webhook that begins now gets later ones. If it is the only one, nothing before
 * that is handed out any more.
 */
async function enterLog(tx: Writer, at: number): Promise<number> {
  const [newest] = await tx.find(events, { index: 'id', prefix: [], limit: 1, reverse: true })
  const after = newest?.id ?? 0
  const [enabled] = await tx.find(webhooks, { index: 'byStatus', prefix: ['enabled'], limit: 1 })
  const progress = await tx.get(webhookProgress, PROGRESS)
  if (!enabled || !progress) tx.put(webhookProgress, { id: PROGRESS, after, due_at: at })
  return after
}

/** The webhooks of an account. */
export const webhooksOf = (tx: Reader, accountId: number): Promise<WebhookRow[]> =>
  tx.find(webhooks, { index: 'byAccount', prefix: [accountId], limit: MOST_WEBHOOKS })

/** Reads a webhook of the account. Throws `not_found`, even if it belongs to another account. */
export const ownWebhook = (tx: Reader, id: number, accountId: number): Promise<WebhookRow> =>
  getOrNotFound(tx, webhooks, id, { account_id: accountId })

/** A page of an account's webhooks, newest first. Throws `cursor_invalid`. */
export async function listWebhooks(
  tx: Reader,
  { accountId, at, ...page }: Acting & { readonly limit?: number | undefined; readonly after?: number | undefined },
) {
  const { rows, next } = await newestFirst(tx, webhooks, { index: 'byAccount', prefix: [accountId], ...page })
  return { webhooks: rows.map((row) => showWebhook(row, at)), next }
}

/** Changes a webhook, and enables it unless `status` is `disabled`. Throws `not_found`, `upstream_refused`, `field_invalid`. */
export async function updateWebhook(
  tx: Writer,
  id: number,
  change: WebhookFields & { readonly status?: WebhookRow['status'] | undefined } & Acting,
  policy: UpstreamPolicy,
) {
  const { url, events: patterns, description, status = 'enabled', accountId, at } = change
  const webhook = await ownWebhook(tx, id, accountId)
  if (patterns) checkEventPatterns(patterns)
  const changed: WebhookRow = {
    ...webhook,
    // An address that was allowed once may be refused today.
    url: checkUpstreamUrl(url ?? webhook.url, policy).href,
    events: patterns ? [...new Set(patterns)] : webhook.events,
    description: description === undefined ? webhook.description : description,
    updated_at: at,
    ...(await statusOf(tx, webhook, status, at)),
  }
  tx.put(webhooks, changed)
  await recordWebhookEvent(tx, changed, { type: 'webhook.updated', at })
  return showWebhook(changed, at)
}

/** Events from while it was disabled are not delivered later. */
async function statusOf(tx: Writer, webhook: WebhookRow, status: WebhookRow['status'], at: number) {
  if (status === webhook.status) return {}
  if (status === 'disabled') return { status, disabled_reason: 'owner' as const }
  return { status, disabled_reason: null, term: webhook.term + 1, after_event: await enterLog(tx, at) }
}

/** Deletes a webhook and ends its deliveries. Throws `not_found`. */
export async function deleteWebhook(tx: Writer, id: number, { accountId, at }: Acting): Promise<void> {
  const webhook = await ownWebhook(tx, id, accountId)
  tx.remove(webhooks, id)
  await recordWebhookEvent(tx, webhook, { type: 'webhook.deleted', at })
}

/**
 * Gives a webhook a new secret or private key. The old one signs too for a day, also if it signs otherwise. Throws
 * `not_found`, `field_invalid`.
 */
export async function rotateWebhook(tx: Writer, id: number, rotating: Signing & Acting, { random }: Making) {
  const { signature, accountId, at } = rotating
  const webhook = await ownWebhook(tx, id, accountId)
  const kind = signature ?? signatureKindOf(webhook.secret) ?? 'hmac-sha256'
  const rotated: WebhookRow = {
    ...webhook,
    secret: await newSecretOf(kind, random),
    former_secret: webhook.secret === '' ? null : webhook.secret,
    former_until: at + OVERLAP_MS,
    updated_at: at,
  }
  tx.put(webhooks, rotated)
  await recordWebhookEvent(tx, rotated, { type: 'webhook.secret_rotated', at })
  return showSecret(rotated, at)
}

/** Disables a webhook that fails, and ends its deliveries. Returns false if it was disabled before. */
export async function disableWebhook(
  tx: Writer,
  webhook: WebhookRow,
  { reason, at }: { readonly reason: DisabledReason; readonly at: number },
): Promise<boolean> {
  if (webhook.status === 'disabled') return false
  const disabled: WebhookRow = { ...webhook, status: 'disabled', disabled_reason: reason, updated_at: at }
  tx.put(webhooks, disabled)
  await recordWebhookEvent(tx, disabled, { type: 'webhook.disabled', actor: 'service', at })
  return true
}

async function recordWebhookEvent(
  tx: Writer,
  { id, account_id, url, disabled_reason }: WebhookRow,
  { type, actor, at }: { readonly type: EventType; readonly actor?: string; readonly at: number },
): Promise<void> {
  const owner = `account:${account_id}` as const
  // The query of a URL may hold a token.
  const { origin, pathname } = new URL(url)
  const data = { url: `${origin}${pathname}`, ...(disabled_reason !== null && { reason: disabled_reason }) }
  await recordEvent(tx, { owners: [owner], type, actor: actor ?? owner, subject: `webhook:${id}`, data, at })
}

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
  const { id: webhookId, account_id: accountId, url, term } = webhook
  const { id: event_id, created_at: event_at, type } = event
  const delivery: WebhookDeliveryRow = {
    ...{ id, webhook_id: webhookId, event_id, event_at, type, message_id: `msg_${randomHex(random, 16)}`, term },
    ...{ status: 'pending', tries: [], outbox_id: outboxId, is_test: isTest, created_at: at },
  }
  tx.put(webhookDeliveries, delivery)
  postWebhook(tx, outboxId, { webhookId, deliveryId: id, accountId, url, type, at })
  return delivery
}

/** Whether a delivery is still wanted: its webhook has not been deleted or disabled since. */
export const isWanted = ({ term }: WebhookDeliveryRow, webhook: WebhookRow): boolean =>
  webhook.status === 'enabled' && webhook.term === term

function showDelivery(delivery: WebhookDeliveryRow, webhook: WebhookRow, message: OutboxRow | undefined) {
  const { id, message_id, event_id, type, status } = delivery
  const isPending = status === 'pending' && message?.status === 'pending' && isWanted(delivery, webhook)
  const due = message && (message.due_at ?? message.waits_since)
  return {
    ...{ id, message_id, event_id, type },
    status: status === 'pending' && !isPending ? ('cancelled' as const) : status,
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
  const sent = rows.map(({ outbox_id }) => outbox_id)
  const messages = await tx.getMany(outbox, sent)
  return { deliveries: rows.map((row, i) => showDelivery(row, webhook, messages[i])), next }
}

/** Sends an event of the type `webhook.test` to a webhook, once. Throws `not_found`, `webhook_disabled`. */
export async function testWebhook(tx: Writer, id: number, { accountId, at }: Acting, service: ServiceContext) {
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
  const { account_id, url } = webhook
  postWebhook(tx, outboxId, { webhookId: id, deliveryId, accountId: account_id, url, type: delivery.type, at })
  return showDelivery(again, webhook, await tx.get(outbox, outboxId))
}

async function enabledWebhook(tx: Reader, id: number, accountId: number): Promise<WebhookRow> {
  const webhook = await ownWebhook(tx, id, accountId)
  if (webhook.status === 'disabled') throw problem('webhook_disabled')
  return webhook
}
