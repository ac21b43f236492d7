import type { Owner } from '../../base/owner.js'
import type { EndedCount, ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { getExisting } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import { ownedAccountIds } from '../accounts/account.js'
import { sendMail } from '../mail/send-mail.js'
import { clientsOf, revokeClient } from '../tokens/token.js'
import { provenSubject, type UserRow, users } from '../users/user.js'

export interface Proof {
  /** Whether the user has a session now. It ends with their generation. */
  readonly hasSessions: boolean
  readonly at: number
}

export type ProofContext = Pick<ServiceContext, 'baseUrl' | 'sandbox' | 'rules'>

/** Kind of the timer that ends what the first proof left. Its subject is the user's id. */
export const FORMER_GENERATION = 'former_generation'
/** How many things of one kind the first proof ends itself, and how many each timer after it. */
const ENDED_AT_ONCE = 10
const ENDED_LATER = 20

/**
 * Records that a user has proven their email for the first time. Someone else may have used the user until now, so
 * everything with which they could act or spend ends with the user's generation, apps know the user by a new subject, and
 * the user gets a mail. What is dead is removed in slices. A sandbox ends nothing, because tests create users through the
 * interface and then sign them in.
 */
export async function proveEmail(tx: Writer, user: UserRow, { hasSessions, at }: Proof, context: ProofContext) {
  const { baseUrl, sandbox } = context
  const proven: UserRow = {
    ...{ ...user, email_verified_at: at, updated_at: at },
    ...(!sandbox && { subject: provenSubject(user), generation: user.generation + 1 }),
  }
  tx.put(users, proven)
  const owner: Owner = `user:${user.id}`
  const ended = sandbox ? [] : await endWhatOthersMade(tx, proven, { hasSessions, at }, context)
  const accounts = await ownedAccountIds(tx, user.id)
  const data = { ended, account_ids: accounts }
  await recordEvent(tx, { owners: [owner], type: 'user.email_verified', actor: owner, subject: owner, data, at })
  // Devices change the user's own row as they go.
  const now = (await tx.get(users, user.id)) ?? proven
  const isWorthTelling = !sandbox && (ended.length > 0 || accounts.length > 0)
  if (isWorthTelling) {
    const mail = provenMail({ ended, accounts, baseUrl })
    await sendMail(tx, { kind: 'email_proven', to: now.email, owner, ...mail, ownLinks: baseUrl, at })
  }
  return now
}

/** Ends all with which someone else could act for the user. Returns what ended, such as "2 devices", or "all sessions" if uncounted. */
async function endWhatOthersMade(
  tx: Writer,
  { id: userId, generation }: UserRow,
  { hasSessions, at }: Proof,
  { rules: { onFirstProof } }: ProofContext,
): Promise<string[]> {
  const ended: EndedCount[] = [
    { count: await revokeClients(tx, userId, at), one: 'client credential', many: 'client credentials' },
    { count: hasSessions ? 'all' : 0, one: 'session', many: 'sessions' },
  ]
  let isMore = false
  for (const { end, isSliced, one, many } of onFirstProof) {
    const count = await end(tx, { userId, generation, most: ENDED_AT_ONCE, at })
    const isCut = isSliced === true && count === ENDED_AT_ONCE
    ended.push({ count: isCut ? 'all' : count, one, many })
    isMore ||= isCut
  }
  if (isMore) await setTimer(tx, { kind: FORMER_GENERATION, subject: String(userId), at, now: at })
  return ended.filter(({ count }) => count !== 0).map(({ count, one, many }) => `${count} ${count === 1 ? one : many}`)
}

/** Goes on to end what a user's former generation made, until nothing is left. All of it is dead already. */
export const endFormerGeneration: TimerJob = async (tx, subject, { clock, rules: { onFirstProof } }) => {
  const at = clock.now()
  const { id: userId, generation } = await getExisting(tx, users, Number(subject))
  let isMore = false
  for (const { end } of onFirstProof.filter(({ isSliced }) => isSliced))
    if ((await end(tx, { userId, generation, most: ENDED_LATER, at })) === ENDED_LATER) isMore = true
  if (isMore) await setTimer(tx, { kind: FORMER_GENERATION, subject, at, now: at })
}

async function revokeClients(tx: Writer, userId: number, at: number): Promise<number> {
  const living = (await clientsOf(tx, 'user', userId)).filter(({ deleted_at }) => deleted_at === null)
  for (const client of living) await revokeClient(tx, client, at)
  return living.length
}

type ProvenNews = { readonly ended: readonly string[]; readonly accounts: readonly number[]; readonly baseUrl: string }

function provenMail({ ended, accounts, baseUrl }: ProvenNews) {
  const parts = ['You signed in with a mailed code for the first time. This email address is now confirmed as yours.']
  if (ended.length > 0)
    parts.push(
      `Someone else had set up a wallet for this address before. What they could use it with no longer works: ${ended.join(', ')}.`,
      `If programs of yours used it, make new client credentials: POST ${baseUrl}/v4/user/secrets.`,
    )
  for (const id of accounts)
    parts.push(
      `Account ${id} was registered with this address, and you are now its owner. Whoever registered it still has its credentials: if that was not you, do not use it.`,
    )
  return { subject: 'Your email address is confirmed', text: parts.join('\n\n') }
}
