import type { MailRow } from '../../../src/base/message.js'
import { SCHEMA } from '../../../src/migrations/schema.js'
import type { State, Storage } from '../../../src/storage/storage.js'
import { Transaction } from '../../../src/storage/transaction.js'

/** Mails that nobody has tried yet, with the ids from 1 on. */
export const waitingMails = (count: number, more: Partial<MailRow> = {}): MailRow[] =>
  Array.from({ length: count }, (_, n) => ({
    id: n + 1,
    kind: 'mail',
    to: `reader-${n + 1}@example.test`,
    subject: 'An invitation',
    text: 'Someone sends you 2.50 USD.',
    created_at: n + 1,
    status: 'pending',
    attempts: 0,
    due_at: n + 1,
    due_set_at: n + 1,
    stale_at: null,
    ...more,
  }))

/** A state that holds these messages and nothing else. */
export const stateOf = (mails: readonly MailRow[]): State => ({
  schema: SCHEMA,
  counters: { outbox: mails.length },
  rows: { outbox: mails },
})

/** A storage that counts the transactions that wrote to the outbox or to the timers. */
export function countingWrites(inner: Storage) {
  const counted = { outbox: 0, timers: 0 }
  const storage: Storage = {
    ...inner,
    write: (body) => {
      let own: Transaction | undefined
      const hasWritten = (name: string) =>
        [...(own?.changes() ?? [])].some(({ collection }) => collection.name === name)
      return inner
        .write((tx) => {
          own = Transaction.over(tx)
          return body(own)
        })
        .finally(() => {
          if (hasWritten('outbox')) counted.outbox++
          if (hasWritten('timers')) counted.timers++
        })
    },
  }
  return { storage, counted }
}
