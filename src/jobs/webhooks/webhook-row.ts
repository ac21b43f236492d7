import type { WebhookTry } from '../../base/message.js'
import { countedDaily } from '../../storage/growth.js'
import { collection } from '../../storage/storage.js'

/** Why a webhook is disabled: its owner disabled it, it failed for three days, or it answered 410. */
export type DisabledReason = 'owner' | 'failing' | 'gone'

/** A URL of an account, to which events are delivered. */
export interface WebhookRow {
  readonly id: number
  readonly account_id: number
  readonly url: string
  readonly description: string | null
  /** Patterns: a type of event, `payment.*` or `*`. */
  readonly events: readonly string[]
  readonly status: 'enabled' | 'disabled'
  /** Null while it is enabled. */
  readonly disabled_reason: DisabledReason | null
  /** How many times it was enabled. Deliveries from an earlier term have ended. */
  readonly term: number
  /** It gets events with higher ids only. */
  readonly after_event: number
  /** `whsec_` and a shared secret, or `whsk_` and a private key, in Base64. Empty if another key encrypted it. */
  readonly secret: string
  /** The secret before the last rotation. Null: there was none. */
  readonly former_secret: string | null
  /** Until when the former secret signs too. */
  readonly former_until: number | null
  readonly created_at: number
  readonly updated_at: number
}

export const webhooks = collection<WebhookRow>()(
  'webhooks',
  { byAccount: { fields: ['account_id'] }, byStatus: { fields: ['status'] } },
  {
    refs: { account_id: 'accounts' },
    sealed: { secret: '', former_secret: null },
    growth: { by: 'an account, by createWebhook', most: 20, per: 'account', beyond: 'too_many_webhooks' },
    retention: { until: 'its account deletes it' },
  },
)

/** One event on its way to one webhook, with all tries. */
export interface WebhookDeliveryRow {
  readonly id: number
  readonly webhook_id: number
  readonly event_id: number
  /** When the event happened. */
  readonly event_at: number
  readonly type: string
  /** The `webhook-id` of every try: `msg_` and 32 hex digits. */
  readonly message_id: string
  /** The webhook's term when it was sent last. */
  readonly term: number
  readonly status: 'pending' | 'succeeded' | 'failed' | 'cancelled'
  /** The latest tries, the earliest first. */
  readonly tries: readonly WebhookTry[]
  /** The message in the outbox. An earlier message of this delivery is no longer sent. */
  readonly outbox_id: number
  /** A test is tried once. */
  readonly is_test: boolean
  readonly created_at: number
}

export const webhookDeliveries = collection<WebhookDeliveryRow>()(
  'webhook_deliveries',
  { byWebhook: { fields: ['webhook_id'] }, byEventTime: { fields: ['event_at'] } },
  {
    refs: { message_id: null, event_id: 'events', outbox_id: 'outbox', webhook_id: 'webhooks' },
    growth: countedDaily('an account, by testWebhook; the service, at most 20 for each event of an account'),
    retention: { after: 'its event happened', keepMs: 'eventDays', index: 'byEventTime' },
  },
)

/** How far the event log was handed to webhooks. One row, `events`. */
export interface WebhookProgressRow {
  readonly id: string
  /** The id of the last event that was handed out. */
  readonly after: number
  /** When the last messages were due. Later ones are never due before. */
  readonly due_at: number
}

export const webhookProgress = collection<WebhookProgressRow>()(
  'webhook_progress',
  {},
  { growth: { by: 'the service', bound: 'It is one row.' }, retention: { forever: 'It is one row.' } },
)

export const PROGRESS = 'events'
