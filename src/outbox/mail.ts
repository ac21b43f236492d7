import { recordEvent } from '../events/event.js'
import { userByEmail } from '../users/user.js'
import type { Courier, MailRow } from './outbox.js'

export const mailCourier: Courier<MailRow> = {
  send: ({ id, to, subject, text }, { mailer }) => mailer.send({ id: String(id), to, subject, text }),

  /** Whoever has the address is told that something was sent there. */
  async sent(tx, { id, to, subject }, { clock }) {
    const user = await userByEmail(tx, to)
    if (!user) return
    const event = { type: 'email.sent', actor: 'service', subject: `message:${id}`, data: { subject } }
    await recordEvent(tx, { owners: [`user:${user.id}`], ...event, at: clock.now() })
  },
}
