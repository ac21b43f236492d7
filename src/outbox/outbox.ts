import type { ServiceContext } from '../context.js'
import { collection, type Writer } from '../storage/storage.js'

/** A message that leaves the service: written with what it tells, delivered after that write has landed. */
export interface OutboxRow {
  readonly id: number
  readonly kind: 'mail'
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly created_at: number
  readonly status: 'pending' | 'sent'
  /** Set while the message waits: what the index of those orders by. */
  readonly pending_since: number | null
}

export const outbox = collection<OutboxRow>()('outbox', {
  pending: { fields: ['pending_since'] },
  byTo: { fields: ['to'] },
})

export async function postMail(
  tx: Writer,
  mail: { to: string; subject: string; text: string; at: number },
): Promise<void> {
  const { at, ...message } = mail
  const id = await tx.nextId('outbox')
  tx.put(outbox, { id, kind: 'mail', ...message, created_at: at, status: 'pending', pending_since: at })
}

/**
 * Hands every waiting message to its port: at least once, with the row's id as idempotency key.
 * One that fails stays and is tried with the next. Sent mail rests only in a sandbox, whose inbox it is: it holds codes.
 */
export async function deliverOutbox({ storage, mailer, sandbox, log }: ServiceContext): Promise<void> {
  const waiting = await storage.read((tx) => tx.find(outbox, { index: 'pending', prefix: [], limit: 100 }))
  for (const message of waiting) {
    try {
      await mailer.send({ id: String(message.id), to: message.to, subject: message.subject, text: message.text })
    } catch (cause) {
      log.error(`mail ${message.id} could not be sent and stays in the outbox`, cause)
      continue
    }
    await storage.write(async (tx) => {
      if (sandbox) tx.put(outbox, { ...message, status: 'sent', pending_since: null })
      else tx.remove(outbox, message.id)
    })
  }
}
