import type { OutboxRow } from '../../base/message.js'
import { normalEmail } from '../../base/text/email.js'
import { seconds } from '../../base/time.js'
import { outbox } from '../../jobs/outbox/outbox.js'
import { newestFirst } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'

export interface InboxQuery {
  readonly to?: string | undefined
  readonly kind?: OutboxRow['kind'] | undefined
  readonly limit?: number | undefined
  readonly after?: number | undefined
}

/**
 * Returns the messages that left the service, newest first, with the codes and links in them. Throws `cursor_invalid`.
 */
export async function readInbox(tx: Reader, { to, kind, limit, after }: InboxQuery) {
  const index = to === undefined ? (kind === undefined ? 'id' : 'byKind') : kind === undefined ? 'byTo' : 'byToAndKind'
  const prefix = [to === undefined ? [] : normalEmail(to), kind ?? []].flat()
  const { rows, next } = await newestFirst(tx, outbox, { index, prefix, limit, after })
  return { messages: rows.map(showMessage), next }
}

export async function emptyInbox(tx: Writer): Promise<void> {
  let after: number[] | undefined
  for (;;) {
    const rows = await tx.find(outbox, { index: 'id', prefix: [], limit: 500, ...(after && { after }) })
    for (const row of rows) if (!isUnsettled(row)) tx.remove(outbox, row.id)
    const last = rows.at(-1)
    if (!last || rows.length < 500) return
    after = [last.id]
  }
}

/** Whether the outcome of a charge or refund is unknown. */
const isUnsettled = ({ kind, status }: OutboxRow): boolean => isOfCard(kind) && status === 'pending'

const isOfCard = (kind: OutboxRow['kind']): boolean => kind === 'card' || kind === 'refund'

const showMessage = ({ id, kind, to, subject, text, status, created_at, ...more }: OutboxRow) => ({
  id,
  kind,
  to,
  subject,
  text,
  status,
  // An amount is not a code.
  codes: isOfCard(kind) ? [] : (text.replace(LINK, '').match(/\b\d{6}\b/g) ?? []),
  links: text.match(LINK) ?? [],
  ...('data' in more && { data: more.data }),
  created_at: seconds(created_at),
})

/** Excludes punctuation at the end of a URL. */
const LINK = /https?:\/\/\S*[^\s.,;:!?)>\]"']/g
