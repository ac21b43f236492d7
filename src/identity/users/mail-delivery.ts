import type { DeliveryOutcome, MailRow } from '../../base/message.js'
import { digest } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { type EventOwner, findEvents, putEvent, recordEvent } from '../../jobs/events/event.js'
import type { DeliveryHandler } from '../../jobs/outbox/delivery.js'
import { bounces } from '../../money/cards/test-values.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { provenUserByEmail, type UserRow } from './user.js'

export const mailDeliveryHandler: DeliveryHandler<MailRow, DeliveryOutcome> = {
  async send({ id, to, subject, text }, { mailer, sandbox }) {
    if (sandbox && bounces(to)) return 'failed'
    await mailer.send({ id: String(id), to, subject, text })
    return 'sent'
  },

  /** Whoever has proven the address, or proves it later, gets an event with the outcome. */
  async settle(tx, { id, to, subject }, settled, { clock }) {
    const type = settled === 'sent' ? 'email.sent' : 'email.bounced'
    const event = {
      type,
      actor: 'service',
      subject: `message:${id}`,
      data: { subject: withoutCodes(subject) },
    } as const
    await recordEvent(tx, { owners: [await mailOwner(tx, to)], ...event, at: clock.now() })
    return settled
  },
}

/** Events are not encrypted, so they must not hold codes. */
const withoutCodes = (text: string): string => text.replace(/\b\d{6}\b/g, '······')

/** How many events of mails from before the first proof a user gets. */
const MOST_SHOWN = 20

const addressOf = (email: string): EventOwner => `address:${digest(normalEmail(email))}`

/** Who sees what happens to a mail: the user who has proven the address, or else whoever proves it later. */
export async function mailOwner(tx: Reader, to: string): Promise<EventOwner> {
  const user = await provenUserByEmail(tx, to)
  return user ? `user:${user.id}` : addressOf(to)
}

/** Gives a user who has just proven their email the events of the last mails to it, with their times. */
export async function showMailsBefore(tx: Writer, { id, email }: UserRow): Promise<void> {
  const waiting = { owner: addressOf(email), type: undefined, past: undefined, limit: MOST_SHOWN, reverse: true }
  for (const { type, actor, subject, data, created_at } of (await findEvents(tx, waiting)).reverse())
    await putEvent(tx, { owners: [`user:${id}`], type, actor, subject, data, at: created_at })
}
