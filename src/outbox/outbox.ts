import type { ServiceContext } from '../context.js'
import { collection, type Key, type Writer } from '../storage/storage.js'

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
export async function deliverOutbox(service: ServiceContext): Promise<void> {
  let after: Key[] | undefined
  for (;;) {
    const query = { index: 'pending', prefix: [], limit: PIECE, ...(after && { after }) } as const
    const waiting = await service.storage.read((tx) => tx.find(outbox, query))
    for (const message of waiting) await deliver(message, service)
    const last = waiting.at(-1)
    if (!last || waiting.length < PIECE) return
    // Past those that failed, so that they hold up no others.
    after = [last.pending_since as number, last.id]
  }
}

const PIECE = 100

async function deliver(message: OutboxRow, { storage, mailer, sandbox, log }: ServiceContext): Promise<void> {
  const { id, to, subject, text } = message
  try {
    await mailer.send({ id: String(id), to, subject, text })
  } catch (cause) {
    log.error(`mail ${id} could not be sent and stays in the outbox`, cause)
    return
  }
  await storage.write(async (tx) => {
    // Meanwhile a sandbox may have emptied its outbox, or begun anew and given the id to another message.
    const kept = await tx.get(outbox, id)
    if (kept?.status !== 'pending' || kept.created_at !== message.created_at || kept.text !== text) return
    if (sandbox) tx.put(outbox, { ...kept, status: 'sent', pending_since: null })
    else tx.remove(outbox, id)
  })
}
