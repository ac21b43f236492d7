import { createTransport } from 'nodemailer'
import type { Mail, Mailer } from '../src/core.js'

export interface SmtpOptions {
  /** The mail server: `smtp://user:password@mail.example.test:587`, or `smtps://…` for TLS from the start. */
  url: string
  /** Whom mail comes from: `Farthing <pay@example.test>`. */
  from: string
}

/** A mailer that also has connections, to be closed at the end. */
export interface SmtpMailer extends Mailer {
  close(): void
}

/**
 * Sends the service's mail over SMTP, on Node. Rejects where the server takes a message for now or for good not,
 * and where none is reached: the service then keeps the message and tries again later. A message that is sent again carries
 * the same Message-ID, so that whoever gets it twice can tell.
 */
export function smtpMailer({ url, from }: SmtpOptions): SmtpMailer {
  const transport = createTransport({ url, pool: true, disableFileAccess: true, disableUrlAccess: true })
  const host = from.replace(/.*@/, '').replace(/[>\s].*/, '')
  return {
    async send({ id, to, subject, text }: Mail) {
      await transport.sendMail({
        from,
        to: { name: '', address: to },
        subject,
        text,
        messageId: `<farthing.${id}@${host}>`,
      })
    },
    close: () => transport.close(),
  }
}
