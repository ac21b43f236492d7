import type { DeliveryOutcome, MailRow } from '../../base/message.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { DeliveryHandler } from '../../jobs/outbox/delivery.js'
import { bounces } from '../../money/cards/test-values.js'
import { mailOwner } from './user.js'

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
