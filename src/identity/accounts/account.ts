import { accountIdOf, type Owner } from '../../base/owner.js'
import { required } from '../../base/required.js'
import { randomHex } from '../../base/secrets.js'
import { isBlank } from '../../base/text/invisible-characters.js'
import { seconds, secondsDigits } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { EventType } from '../../jobs/events/event-types.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { createTwin, type ShownTwin, showTwin, type TwinContext } from '../../money/twins/twin.js'
import { countedDaily } from '../../storage/growth.js'
import { allRows, getOrNotFound, type ReadOnce } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { reindex, wordIndex, wordsOf } from '../../storage/word-index.js'
import { type ClientRow, clientsOf, createClient } from '../tokens/token.js'
import { createUser, isProven, type ShownUser, showUser, users } from '../users/user.js'

/** A business that sells and pays for a plan. */
export interface AccountRow {
  readonly id: number
  readonly name: string | null
  readonly business_name: string | null
  /** Publishable: safe in a browser. */
  readonly public_secret: string
  readonly created_at: number
  readonly updated_at: number
}

export const accounts = collection<AccountRow>()(
  'accounts',
  { byPublicSecret: { fields: ['public_secret'], unique: true } },
  {
    growth: countedDaily('anybody, unless `accountCreation` is false', 'client address'),
    retention: { forever: 'An account owns what it sells.' },
  },
)

/** Users who may act for an account, once they have proven their email (`isOwner`). */
export interface MembershipRow {
  readonly id: string
  readonly account_id: number
  readonly user_id: number
  readonly role: 'owner'
}

export const memberships = collection<MembershipRow>()(
  'memberships',
  { byUser: { fields: ['user_id'] }, byAccount: { fields: ['account_id'] } },
  {
    refs: { account_id: 'accounts', user_id: 'users' },
    growth: { by: 'the user who registers an account', bound: 'One for each account.' },
    retention: { forever: 'They say who owns an account.' },
  },
)

export interface NewAccount {
  readonly at: number
  readonly name?: string | null | undefined
  readonly businessName?: string | null | undefined
  /** Fixed by a seed. */
  readonly publicSecret?: string | undefined
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
}

/** Creates an account and its client credentials. Only this returns the client secret. */
export async function createAccount(
  tx: Writer,
  { at, name, businessName, publicSecret, clientId, clientSecret }: NewAccount,
  context: Pick<ServiceContext, 'random' | 'keys'>,
): Promise<{ account: AccountRow; client: ClientRow; client_secret: string }> {
  const account: AccountRow = {
    id: await tx.nextId('accounts'),
    name: name ?? null,
    business_name: businessName ?? null,
    public_secret: publicSecret ?? `mp_${randomHex(context.random, 16)}`,
    created_at: at,
    updated_at: at,
  }
  tx.put(accounts, account)
  await indexSeller(tx, undefined, account)
  const credentials = { kind: 'account', id: account.id, at, clientId, clientSecret } as const
  await recordAccountEvent(tx, account, { type: 'account.created', at })
  return { account, ...(await createClient(tx, credentials, context)) }
}

/**
 * Creates an account, its primary twin in `dq` and its owner (Micro Payment Service Interface, section 4.1, rule 8). The user
 * owns the account after they prove their email. They create client credentials then, so this returns none for them. Throws
 * `dq_unknown`, `email_taken`.
 */
export async function registerAccount(
  tx: Writer,
  { dq, email, at }: { dq: string; email: string; at: number },
  context: TwinContext & Pick<ServiceContext, 'options'>,
): Promise<{ account: ShownAccount; twin: ShownTwin; user: Omit<ShownUser, 'secrets'> }> {
  await quantityOf(tx, dq)
  const { account, client, client_secret } = await createAccount(tx, { at }, context)
  const twin = await createTwin(tx, { owner: `account:${account.id}`, dq, at }, context)
  const user = await createUser(tx, { email, at, madeBy: account.id, credentials: false }, context)
  const membership = { account_id: account.id, user_id: user.id, role: 'owner' } as const
  tx.put(memberships, { id: `${account.id}:${user.id}`, ...membership })
  return {
    account: showAccount(account, client, client_secret),
    twin: await showTwin(tx, twin, { unit: context.options.balances }),
    user: showUser(user),
  }
}

/** Whether a user may act for an account. Anyone can register an account with any address, so theirs must be proven. */
export async function isOwner(tx: Reader, accountId: number, userId: number): Promise<boolean> {
  if (!(await tx.get(memberships, `${accountId}:${userId}`))) return false
  const user = await tx.get(users, userId)
  return user !== undefined && isProven(user)
}

export async function ownedAccountIds(tx: Reader, userId: number): Promise<number[]> {
  const user = await tx.get(users, userId)
  if (!user || !isProven(user)) return []
  const ids: number[] = []
  for await (const { account_id } of allRows(tx, memberships, { index: 'byUser', prefix: [userId] }))
    ids.push(account_id)
  return ids
}

export const accountOf = (tx: Reader, id: number): Promise<AccountRow> => getOrNotFound(tx, accounts, id)

export async function accountByPublicSecret(tx: Reader, publicSecret: string): Promise<AccountRow | undefined> {
  const [account] = await tx.find(accounts, { index: 'byPublicSecret', prefix: [publicSecret], limit: 1 })
  return account
}

/** Finds accounts by the words of the name that payers see. */
export const sellerWords = wordIndex('seller_words', 'no account has the word in its name')

async function indexSeller(tx: Writer, before: AccountRow | undefined, after: AccountRow): Promise<void> {
  const wordsIn = (account: AccountRow | undefined) => wordsOf((account && sellerName(account)) ?? '')
  await reindex(tx, sellerWords, { id: after.id, before: wordsIn(before), after: wordsIn(after) })
}

/** Sets an account's names. Null clears one, undefined leaves it unchanged. Default of `actor`: the account itself. */
export async function updateAccount(
  tx: Writer,
  id: number,
  { name, businessName, actor, at }: Pick<NewAccount, 'name' | 'businessName' | 'at'> & { actor?: string | undefined },
) {
  const account = await accountOf(tx, id)
  const updated: AccountRow = {
    ...account,
    name: name === undefined ? account.name : name,
    business_name: businessName === undefined ? account.business_name : businessName,
    updated_at: at,
  }
  tx.put(accounts, updated)
  await indexSeller(tx, account, updated)
  const names = { name: updated.name, businessName: updated.business_name }
  await recordAccountEvent(tx, updated, { type: 'account.updated', data: names, actor, at })
  return { id, ...names, created_at: seconds(updated.created_at), updated_at: seconds(updated.updated_at) }
}

function recordAccountEvent(tx: Writer, { id }: AccountRow, { actor, ...event }: AccountEvent) {
  const owner = `account:${id}` as const
  return recordEvent(tx, { data: {}, ...event, owners: [owner], actor: actor ?? owner, subject: owner })
}

type AccountEvent = { type: EventType; data?: Record<string, unknown>; actor?: string | undefined; at: number }

/** The name that payers see. Null if the account has none: a blank one is none. */
export const sellerName = ({ business_name, name }: AccountRow): string | null =>
  [business_name, name].find((each) => each !== null && !isBlank(each)) ?? null

/** The name of a seller or payee for people. Default: the twin's hostname. */
export async function sellerOf(tx: Reader, { owner, hostname }: { readonly owner: Owner; readonly hostname: string }) {
  const id = accountIdOf(owner)
  const account = id === undefined ? undefined : await tx.get(accounts, id)
  return (account && sellerName(account)) ?? hostname
}

/** Reads the accounts of several owners in one call, so that `sellerOf` finds them there. */
export async function readSellers(page: ReadOnce, rows: readonly { readonly owner: Owner }[]): Promise<void> {
  await page.getMany(
    accounts,
    rows.map(({ owner }) => accountIdOf(owner)).filter((id) => id !== undefined),
  )
}

export type ShownAccount = ReturnType<typeof showAccount>

/** An account as callers see it: exactly the four fields that existing clients expect. */
export function showAccount(account: AccountRow, client: ClientRow, clientSecret: string | null) {
  const times = (row: { created_at: number; updated_at: number }) => ({
    created_at: secondsDigits(row.created_at),
    updated_at: secondsDigits(row.updated_at),
  })
  return {
    id: account.id,
    ...times(account),
    secrets: [
      { public_secret: account.public_secret, ...times(account) },
      { client_id: client.id, client_secret: clientSecret, ...times(client) },
    ] as const,
  }
}

export async function readAccount(tx: Reader, id: number) {
  const account = await accountOf(tx, id)
  const [client] = await clientsOf(tx, 'account', id)
  const shown = showAccount(account, required(client, `the client of account ${id}`), null)
  return { ...shown, name: account.name, businessName: account.business_name }
}
