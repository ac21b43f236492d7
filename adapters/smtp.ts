import { createTransport } from 'nodemailer'
import type { Mail, Mailer } from '../src/core.js'

export interface SmtpOptions {
  /** The mail server: `smtp://user:password@mail.example.test:587`, or `smtps://…` for TLS from the start. */
  url: string
  /** The sender of every mail: `Farthing <pay@example.test>`. */
  from: string
}

/** A mailer with open connections. Close it at the end. */
export interface SmtpMailer extends Mailer {
  close(): void
}

/**
 * Sends the service's mail over SMTP, on Node. `send` rejects if the server refuses the message or cannot be reached.
 * The service then tries again later, with the same Message-ID, so that the receiver can recognize a duplicate.
 */
export function smtpMailer({ url, from }: SmtpOptions): SmtpMailer {
  const transport = createTransport({ url, pool: true, disableFileAccess: true, disableUrlAccess: true })
  const host = from.slice(from.lastIndexOf('@') + 1).replace(/[>\s].*/, '')
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
