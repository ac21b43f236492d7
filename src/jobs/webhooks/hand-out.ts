import { accountIdOf } from '../../base/owner.js'
import { isAhead } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type EventRow, events } from '../events/event.js'
import { matchesPattern } from '../events/event-types.js'
import { postDelivery, webhooksOf } from './webhook.js'
import { PROGRESS, type WebhookRow, webhookProgress } from './webhook-row.js'

const EVENTS_PER_TRANSACTION = 100
type HandingOut = Pick<ServiceContext, 'storage' | 'clock' | 'random' | 'recorder'>

/**
 * Writes the deliveries of events that no webhook has got yet, in the order of the events. Each event is handed out
 * once, by whichever process comes first. Returns whether there may be more.
 */
export async function handOutEvents(service: HandingOut): Promise<boolean> {
  const { storage } = service
  const { rows } = await storage.read(readNews)
  if (rows.length === 0) return false
  const { posted, mayBeMore } = await storage.write((tx) => handOut(tx, service))
  for (const { eventId, id } of posted) service.recorder?.noteMessage(eventId, { kind: 'webhook', id })
  return mayBeMore
}

interface HandedOut {
  readonly posted: readonly { readonly eventId: number; readonly id: number }[]
  readonly mayBeMore: boolean
}

/** Of two events, the one that lands later has the greater id, so none is ever missing below the last one. */
async function readNews(tx: Reader) {
  const progress = await tx.get(webhookProgress, PROGRESS)
  if (!progress) return { progress, rows: [] }
  const query = { index: 'id', prefix: [], after: [progress.after], limit: EVENTS_PER_TRANSACTION } as const
  return { progress, rows: await tx.find(events, query) }
}

async function handOut(tx: Writer, service: HandingOut): Promise<HandedOut> {
  const { progress, rows } = await readNews(tx)
  if (!progress) return { posted: [], mayBeMore: false }
  const at = service.clock.now()
  // A clock that goes back a little must not change the order.
  const due = isAhead(progress.due_at, at) ? at : Math.max(at, progress.due_at)
  const wanted = await recipientsOf(tx, rows)
  const names = wanted.flatMap(() => ['webhook_deliveries', 'outbox'])
  const ids = names.length > 0 ? await tx.nextIds(names) : []
  for (const [i, { webhook, event }] of wanted.entries())
    postDelivery(tx, { webhook, event, ids: [ids[2 * i] ?? 0, ids[2 * i + 1] ?? 0], at: due }, service)
  const after = rows.at(-1)?.id ?? progress.after
  tx.put(webhookProgress, { id: PROGRESS, after, due_at: wanted.length > 0 ? due : progress.due_at })
  const posted = wanted.map(({ event }, i) => ({ eventId: event.id, id: ids[2 * i + 1] ?? 0 }))
  return { posted, mayBeMore: rows.length === EVENTS_PER_TRANSACTION }
}

type Recipient = { readonly webhook: WebhookRow; readonly event: EventRow }

/** Who gets which event, in the order of the events. */
async function recipientsOf(tx: Reader, rows: readonly EventRow[]): Promise<Recipient[]> {
  const byAccount = new Map<number, WebhookRow[]>()
  const wanted: Recipient[] = []
  for (const event of rows)
    for (const owner of [event.owner, event.other]) {
      const id = owner === null ? undefined : accountIdOf(owner)
      if (id === undefined) continue
      const own = byAccount.get(id) ?? (await webhooksOf(tx, id)).filter(({ status }) => status === 'enabled')
      byAccount.set(id, own)
      for (const webhook of own) if (wants(webhook, event)) wanted.push({ webhook, event })
    }
  return wanted
}

/** The test of one webhook is nothing to the others. */
const wants = ({ after_event, events: patterns }: WebhookRow, { id, type }: EventRow): boolean =>
  id > after_event && type !== 'webhook.test' && matchesPattern(patterns, type)
