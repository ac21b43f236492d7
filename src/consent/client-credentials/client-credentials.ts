import { problem } from '../../base/problem.js'
import type { ServiceContext, StoreAnswer } from '../../http/context.js'
import { sendMail } from '../../identity/mail/send-mail.js'
import { clients, clientsOf, createClient, isNewer, revokeClient } from '../../identity/tokens/token.js'
import { isProven, recordUserEvent, showSecrets, users } from '../../identity/users/user.js'
import { getExisting } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import { actApproved, type UserSession } from '../second-factor/await-second-factor.js'

/** The newest existing credentials keep working, so that a user who loses the answer is not locked out. */
const MAX_OLDER = 1
const SUPERSEDED = 'Newer client credentials exist, so these create no others. Use the newest ones, or a session.'

interface Caller {
  readonly userId: number
  /** The client whose access token calls. Undefined for a session. */
  readonly clientId: string | undefined
  readonly session: UserSession | undefined
}

/**
 * Creates client credentials for a user, deletes all but the newest existing ones, and mails the user. A session first
 * waits for the second factor. Throws like `awaitSecondFactor`, and `wrong_principal` for credentials that are not the
 * newest: they may have leaked, and would outlive those that replace them.
 */
export const createUserSecrets = (
  caller: Caller,
  service: ServiceContext,
  storeAnswer: StoreAnswer<Awaited<ReturnType<typeof createSecrets>>>,
) =>
  actApproved(service, caller.session, {
    plan: async () => undefined,
    order: async () => ({
      action: 'client_credentials',
      detail: { request: 'Create new client credentials, with which programs can use your wallet' },
    }),
    act: async (tx, _, at) => storeAnswer(tx, await createSecrets(tx, caller, at, service)),
  })

async function createSecrets(tx: Writer, { userId, clientId }: Caller, at: number, context: ServiceContext) {
  const ended: string[] = []
  const known = await clientsOf(tx, 'user', userId)
  for (const old of known) if (old.deleted_at !== null) tx.remove(clients, old.id)
  const living = known.filter(({ deleted_at }) => deleted_at === null)
  const own = living.find(({ id }) => id === clientId)
  if (own && living.some((each) => isNewer(each, own))) throw problem('wrong_principal', { detail: SUPERSEDED })
  for (const old of living.slice(0, Math.max(0, living.length - MAX_OLDER))) {
    await revokeClient(tx, old, at)
    ended.push(old.id)
  }
  // They are the newest, also if the clock stands still or was ahead.
  const newest = known.at(-1)?.created_at ?? 0
  const made = { kind: 'user', id: userId, at: Math.max(at, newest + 1) } as const
  const { client } = await createClient(tx, made, context)
  await notifyUser(tx, { userId, clientId: client.id, ended, at })
  return { secrets: showSecrets([client], context) }
}

type CreatedSecrets = { userId: number; clientId: string; ended: readonly string[]; at: number }

async function notifyUser(tx: Writer, { userId, clientId, ended, at }: CreatedSecrets): Promise<void> {
  const owner = `user:${userId}` as const
  const data = { client_id: clientId, ended_client_ids: ended }
  await recordUserEvent(tx, userId, { type: 'user.secrets_created', subject: owner, data, at })
  const user = await getExisting(tx, users, userId)
  if (!isProven(user)) return
  const text = [
    `New client credentials were created for your wallet: ${clientId}. Programs that have them can pay from it.`,
    'If this was not you, sign in and create new ones twice. Then these and all earlier ones stop working.',
  ].join('\n\n')
  const mail = { to: user.email, owner, subject: 'New client credentials for your wallet', text }
  await sendMail(tx, { kind: 'client_credentials', ...mail, at })
}
