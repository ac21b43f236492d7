import { digest } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { type EventOwner, findEvents, putEvent } from '../../jobs/events/event.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { provenUserByEmail, type UserRow } from './user.js'

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
