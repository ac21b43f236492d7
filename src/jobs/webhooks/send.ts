import type { WebhookMessageRow, WebhookTry } from '../../base/message.js'
import { Problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import { VERSION } from '../../base/version.js'
import type { ServiceContext } from '../../http/context.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type EventRow, events, showEvent } from '../events/event.js'
import type { DeliveryHandler } from '../outbox/delivery.js'
import { callUpstream, UpstreamFailure } from '../upstream/call.js'
import { checkUpstreamUrl } from '../upstream/policy.js'
import { signatureHeaders } from './signature.js'
import { currentSecrets, disableWebhook, isWanted } from './webhook.js'
import {
  type DisabledReason,
  type WebhookDeliveryRow,
  type WebhookRow,
  webhookDeliveries,
  webhooks,
} from './webhook-row.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** The wait after each failed try: then twice a day, to the third day. */
const WAITS = [5000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, ...Array(4).fill(12 * HOUR)]
/** How long a receiver may take to answer. */
const DEADLINE_MS = 15_000
const MOST_TRIES = 50

/** Tells the owners of a webhook that it is disabled, in the transaction that disables it. */
export type OnDisabled = (
  tx: Writer,
  webhook: WebhookRow,
  ended: { readonly reason: DisabledReason; readonly baseUrl: string; readonly at: number },
) => Promise<void>

type Delivering = { readonly webhook: WebhookRow; readonly delivery: WebhookDeliveryRow }
type Handler = DeliveryHandler<WebhookMessageRow, WebhookTry | 'ended'>

/** Delivers events to webhooks, signed. A failure is a result like others, so that each try is listed. */
export const webhookDeliveryHandlerWith = (onDisabled: OnDisabled): Handler => ({
  async send(message, service) {
    const { storage, clock } = service
    const found = await storage.read(async (tx) => {
      const delivering = await findDelivery(tx, message)
      return delivering && { ...delivering, event: await tx.get(events, delivering.delivery.event_id) }
    })
    if (!found || !isWanted(found.delivery, found.webhook)) return 'ended'
    const at = clock.now()
    const outcome = await tryOnce(found, service)
    return { at, ...outcome, ms: clock.now() - at }
  },

  async settle(tx, message, result, { clock, baseUrl }) {
    const found = await findDelivery(tx, message)
    if (!found) return 'failed'
    const { webhook, delivery } = found
    if (result === 'ended') {
      tx.put(webhookDeliveries, { ...delivery, status: 'cancelled' })
      return 'failed'
    }
    const tried = { ...delivery, tries: [...delivery.tries, result].slice(-MOST_TRIES) }
    if (result.error === null) {
      tx.put(webhookDeliveries, { ...tried, status: 'succeeded' })
      return 'sent'
    }
    const retryAfterMs = delivery.is_test || result.status === GONE ? undefined : WAITS[message.attempts - 1]
    if (retryAfterMs !== undefined && result.error !== EVENT_REMOVED) {
      tx.put(webhookDeliveries, tried)
      return { retryAfterMs }
    }
    tx.put(webhookDeliveries, { ...tried, status: 'failed' })
    const reason = result.status === GONE ? 'gone' : 'failing'
    const endsWebhook = isWanted(delivery, webhook) && result.error !== EVENT_REMOVED
    if (endsWebhook && (reason === 'gone' || !delivery.is_test)) {
      const at = clock.now()
      if (await disableWebhook(tx, webhook, { reason, at })) await onDisabled(tx, webhook, { reason, baseUrl, at })
    }
    return 'failed'
  },
})

const GONE = 410
const EVENT_REMOVED = 'event_removed'

/** The delivery of a message. Undefined if it or its webhook is gone, or if it was sent again since. */
async function findDelivery(tx: Reader, { id, delivery_id }: WebhookMessageRow): Promise<Delivering | undefined> {
  const delivery = await tx.get(webhookDeliveries, delivery_id)
  if (delivery?.outbox_id !== id) return undefined
  const webhook = await tx.get(webhooks, delivery.webhook_id)
  return webhook && { webhook, delivery }
}

type Outcome = Pick<WebhookTry, 'status' | 'error'>

async function tryOnce(
  { webhook, delivery, event }: Delivering & { readonly event: EventRow | undefined },
  service: ServiceContext,
): Promise<Outcome> {
  const secrets = currentSecrets(webhook, service.clock.now())
  if (!event) return { status: null, error: EVENT_REMOVED }
  if (secrets.length === 0) return { status: null, error: 'secret_unreadable' }
  const body = JSON.stringify(showEvent(event))
  // A receiver compares the time with its own clock, which does not move with that of a sandbox.
  const timestamp = seconds(service.sandbox?.clock.realNow() ?? service.clock.now())
  const signed = await signatureHeaders(secrets, { id: delivery.message_id, timestamp, body }).catch((cause: unknown) =>
    service.log.error(`delivery ${delivery.id} could not be signed`, cause),
  )
  if (!signed) return { status: null, error: 'signature_failed' }
  const headers = { 'content-type': 'application/json', 'user-agent': `farthing/${VERSION}`, ...signed }
  let isEnding = false
  const forget = service.ending.onCallsEnd(() => (isEnding = true))
  try {
    return await post({ url: webhook.url, headers, body }, service)
  } catch (cause) {
    // It stays claimed, and the next start tries it again at once.
    if (isEnding) return new Promise<never>(() => {})
    if (cause instanceof UpstreamFailure) return { status: null, error: cause.reason }
    if (cause instanceof Problem) return { status: null, error: cause.code }
    throw cause
  } finally {
    forget()
  }
}

type Sent = { readonly url: string; readonly headers: Record<string, string>; readonly body: string }

/** Sends one signed request. Only the status of the answer counts. Throws `upstream_refused`, and an `UpstreamFailure`. */
async function post({ url, headers, body }: Sent, service: ServiceContext): Promise<Outcome> {
  const limits = { upstreamMs: DEADLINE_MS, upstreamBytes: Number.MAX_SAFE_INTEGER }
  // The policy may have changed since the URL was stored.
  const call = { url: checkUpstreamUrl(url, service), method: 'POST', headers, body, hops: 0 } as const
  const answer = await callUpstream({ ...service, limits }, call)
  await answer.body.cancel().catch(() => {})
  const isAccepted = answer.status >= 200 && answer.status < 300
  return { status: answer.status, error: isAccepted ? null : 'bad_status' }
}
