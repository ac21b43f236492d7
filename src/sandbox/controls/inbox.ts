import type { OutboxRow } from '../../base/message.js'
import { normalEmail } from '../../base/text/email.js'
import { seconds } from '../../base/time.js'
import { codesIn, isOfCard, linksIn, outbox } from '../../jobs/outbox/outbox.js'
import { newestFirst } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'

export interface InboxQuery {
  readonly to?: string | undefined
  readonly kind?: OutboxRow['kind'] | undefined
  readonly limit?: number | undefined
  readonly after?: number | undefined
}

export interface InboxPage {
  messages: InboxMessage[]
  next: number | null
}

/** A message that left the service. */
export interface InboxMessage {
  id: number
  kind: OutboxRow['kind']
  to: string
  subject: string
  text: string
  status: OutboxRow['status']
  codes: string[]
  links: string[]
  data?: Readonly<Record<string, string>>
  created_at: number
}

/**
 * Returns the messages that left the service, newest first, with the codes and links in them. Throws `cursor_invalid`.
 */
export async function readInbox(tx: Reader, { to, kind, limit, after }: InboxQuery): Promise<InboxPage> {
  const index = to === undefined ? (kind === undefined ? 'id' : 'byKind') : kind === undefined ? 'byTo' : 'byToAndKind'
  const prefix = [to === undefined ? [] : normalEmail(to), kind ?? []].flat()
  const { rows, next } = await newestFirst(tx, outbox, { index, prefix, limit, after })
  return { messages: rows.map(showMessage), next }
}

export async function emptyInbox(tx: Writer): Promise<void> {
  let after: number[] | undefined
  for (;;) {
    const rows = await tx.find(outbox, { index: 'id', prefix: [], limit: 500, ...(after && { after }) })
    for (const row of rows) if (!isDeadLetter(row)) tx.remove(outbox, row.id)
    const last = rows.at(-1)
    if (!last || rows.length < 500) return
    after = [last.id]
  }
}

/** Whether the outcome of a charge or refund is unknown, or a webhook is still on its way. */
const isDeadLetter = ({ kind, status }: OutboxRow): boolean =>
  (isOfCard(kind) || kind === 'webhook') && status === 'pending'

const showMessage = (row: OutboxRow): InboxMessage => ({
  id: row.id,
  kind: row.kind,
  to: row.to,
  subject: row.subject,
  text: row.text,
  status: row.status,
  codes: codesIn(row),
  links: linksIn(row),
  ...('data' in row && { data: row.data }),
  created_at: seconds(row.created_at),
})
