import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { seconds } from '../../base/time.js'
import type { LaterRules, ProvenUser, ServiceContext } from '../../http/context.js'
import { accountOf, accounts, isOwner, ownedAccountIds, sellerName } from '../../identity/accounts/account.js'
import { generationOf, recordUserEvent } from '../../identity/users/user.js'
import { setTimer } from '../../jobs/schedule/timer.js'
import { firstQuantity } from '../../money/digital-quantities/digital-quantity.js'
import { createTwin, type TwinContext, type TwinRow, twins } from '../../money/twins/twin.js'
import { getOrNotFound, newestFirst, type PageBounds } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import {
  appHost,
  appName,
  CLIENT_DELETED,
  clientById,
  isClientDeleted,
  type OidcClientRow,
  oidcClients,
  setUnusedSince,
} from './clients/client.js'

type EndedFamily = { readonly id: string; readonly ended_at: number }

/** What a user allows an app. There is one row per user and app, until the user disconnects it. */
export interface ConnectionRow {
  readonly id: number
  readonly user_id: number
  /** The user's. A connection of a lower one is dead. */
  readonly user_generation: number
  readonly client_id: string
  /** The business account that the user granted. */
  readonly account_id: number | null
  /** All scopes that the user ever allowed. */
  readonly scopes: readonly string[]
  /** Tokens and codes of a lower one are dead. */
  readonly generation: number
  /** Families of tokens that were revoked within a day, such as by a stolen refresh token. Few: then the generation rises. */
  readonly ended_families: readonly EndedFamily[]
  readonly created_at: number
  readonly updated_at: number
}

export const oidcConnections = collection<ConnectionRow>()(
  'oidc_connections',
  {
    byUser: { fields: ['user_id', 'user_generation'] },
    byParties: { fields: ['user_id', 'client_id'], unique: true },
    byClient: { fields: ['client_id'] },
  },
  {
    refs: { account_id: 'accounts', client_id: 'oidc_clients', user_id: 'users' },
    growth: { by: 'a user, by connecting an app', bound: 'One for each user and app.' },
    retention: { until: 'the user disconnects the app, its client is deleted, or the user first proves their email' },
  },
)

/** The twin that a user's agents pay from. The first connection creates it. The id is the user's. */
type AgentTwinRow = { readonly id: number; readonly twin_id: number }

export const agentTwins = collection<AgentTwinRow>()(
  'agent_twins',
  {},
  {
    refs: { twin_id: 'twins' },
    growth: { by: 'a user, by connecting an app', bound: 'One for each user.' },
    retention: { forever: 'One for each user.' },
  },
)

const MOST_ENDED = 50
/** No token of a family lives longer: a day, and an hour for clocks that differ. */
const FAMILY_MS = 25 * 3_600_000

/** What belongs to a connection and to one family of its tokens. */
export interface FamilyMember {
  readonly connection_id: number
  readonly generation: number
  /** Null for a code that nobody has exchanged. */
  readonly family_id: string | null
}

export const isConnectionValid = async (tx: Reader, { user_id, user_generation, client_id }: ConnectionRow) =>
  user_generation === (await generationOf(tx, `user:${user_id}`)) && (await clientById(tx, client_id)) !== undefined

/** Returns a connection that is valid. */
export async function findConnection(tx: Reader, id: number): Promise<ConnectionRow | undefined> {
  const row = await tx.get(oidcConnections, id)
  return row && (await isConnectionValid(tx, row)) ? row : undefined
}

/** Whether a token or code of a valid connection has not ended with its connection or family. */
export const isInFamily = (
  connection: ConnectionRow | undefined,
  { generation, family_id }: FamilyMember,
): connection is ConnectionRow =>
  connection !== undefined &&
  connection.generation === generation &&
  (family_id === null || !connection.ended_families.some(({ id }) => id === family_id))

/** The same, of a connection that is not read yet. */
export const isFamilyAlive = async (tx: Reader, member: FamilyMember): Promise<boolean> =>
  isInFamily(await findConnection(tx, member.connection_id), member)

/** Ends every token of one code: all are dead at once, and swept later. After many families, the whole connection's tokens end. */
export async function endFamily(tx: Writer, { connection_id, family_id }: FamilyMember, ended_at: number) {
  const connection = await tx.get(oidcConnections, connection_id)
  if (!connection || family_id === null) return
  const alive = connection.ended_families.filter((family) => family.ended_at > ended_at - FAMILY_MS)
  const ended_families = [...alive, { id: family_id, ended_at }]
  const isFull = ended_families.length > MOST_ENDED
  const { generation } = connection
  const after = isFull ? { generation: generation + 1, ended_families: [] } : { ended_families }
  tx.put(oidcConnections, { ...connection, ...after })
}

export async function connectionOf(tx: Reader, userId: number, clientId: string): Promise<ConnectionRow | undefined> {
  const row = await connectionEver(tx, userId, clientId)
  return row && (await isConnectionValid(tx, row)) ? row : undefined
}

async function connectionEver(tx: Reader, userId: number, clientId: string): Promise<ConnectionRow | undefined> {
  const [row] = await tx.find(oidcConnections, { index: 'byParties', prefix: [userId, clientId], limit: 1 })
  return row
}

type Ending = { readonly actor: string; readonly at: number }

/** Removes a connection. Its tokens and codes are dead without it, and the sweep removes them later. */
export async function removeConnection(tx: Writer, { id, user_id, client_id }: ConnectionRow, { actor, at }: Ending) {
  tx.remove(oidcConnections, id)
  const event = { type: 'connection.deleted', subject: `connection:${id}`, data: { client_id } } as const
  await recordUserEvent(tx, user_id, { ...event, actor, at })
}

interface AllowedApp extends Pick<ConnectionRow, 'scopes'> {
  readonly userId: number
  readonly clientId: string
  readonly accountId: number | null
  readonly at: number
}

/** Stores what a user allows an app, in addition to what they allowed before. Creates their agent twin if they have none. */
export async function connectApp(
  tx: Writer,
  { userId, clientId, accountId, scopes, at }: AllowedApp,
  context: TwinContext,
): Promise<ConnectionRow> {
  const former = await connectionEver(tx, userId, clientId)
  const known = former && (await isConnectionValid(tx, former)) ? former : undefined
  // What a former generation allowed is not allowed again.
  if (former && !known) await removeConnection(tx, former, { actor: 'service', at })
  const row: ConnectionRow = {
    id: known?.id ?? (await tx.nextId('oidc_connections')),
    user_id: userId,
    user_generation: await generationOf(tx, `user:${userId}`),
    client_id: clientId,
    account_id: accountId,
    scopes: [...new Set([...(known?.scopes ?? []), ...scopes])],
    generation: known?.generation ?? 0,
    ended_families: known?.ended_families ?? [],
    created_at: known?.created_at ?? at,
    updated_at: at,
  }
  tx.put(oidcConnections, row)
  if (!known) await setUnusedSince(tx, clientId, { unusedSince: null })
  if (!(await findAgentTwin(tx, userId))) await createAgentTwin(tx, userId, at, context)
  const type = known ? 'connection.updated' : 'connection.created'
  const data = { client_id: clientId, account_id: accountId, scope: row.scopes.join(' ') }
  await recordUserEvent(tx, userId, { type, subject: `connection:${row.id}`, data, at })
  return row
}

async function createAgentTwin(tx: Writer, userId: number, at: number, context: TwinContext): Promise<void> {
  const { id: dq } = await firstQuantity(tx)
  const twin = await createTwin(tx, { owner: `user:${userId}`, dq, at }, context)
  tx.put(agentTwins, { id: userId, twin_id: twin.id })
}

/** Makes the next connection create a new agent twin. The user keeps the present one. Returns how many there were. */
export async function retireAgentTwin(tx: Writer, userId: number): Promise<number> {
  if (!(await tx.get(agentTwins, userId))) return 0
  tx.remove(agentTwins, userId)
  return 1
}

export async function findAgentTwin(tx: Reader, userId: number): Promise<TwinRow | undefined> {
  const row = await tx.get(agentTwins, userId)
  return row && tx.get(twins, row.twin_id)
}

/** The apps that a user connected, newest first. Throws `cursor_invalid`. */
export async function listConnections(tx: Reader, userId: number, page: PageBounds) {
  const prefix = [userId, await generationOf(tx, `user:${userId}`)]
  const { rows, next } = await newestFirst(tx, oidcConnections, { index: 'byUser', prefix, ...page })
  const ids = rows.map(({ client_id }) => client_id)
  const apps = await tx.getMany(oidcClients, ids)
  return {
    connections: rows
      .map((row, i) => ({ row, app: required(apps[i], `the app of connection ${row.id}`) }))
      .filter(({ app }) => !isClientDeleted(app))
      .map(({ row, app }) => showConnection(row, app)),
    next,
  }
}

const showConnection = ({ id, client_id, account_id, ...row }: ConnectionRow, client: OidcClientRow) => ({
  ...{ id, client_id },
  client_name: appName(client),
  client_host: appHost(client),
  account_id,
  scope: row.scopes.join(' '),
  created_at: seconds(row.created_at),
  updated_at: seconds(row.updated_at),
})

/** The accounts that a user may grant: those they own, with a name for people. */
export async function grantableAccounts(tx: Reader, userId: number): Promise<NamedAccount[]> {
  const found: NamedAccount[] = []
  for (const id of await ownedAccountIds(tx, userId))
    found.push({ id, name: sellerName(await accountOf(tx, id)) ?? `Account ${id}` })
  return found
}

type Granted = Pick<ConnectionRow, 'account_id' | 'user_id'>

/** The account that a connection grants. Null also if the user no longer owns it. */
export async function grantedAccountId(tx: Reader, { account_id, user_id }: Granted) {
  if (account_id === null) return null
  return (await isOwner(tx, account_id, user_id)) ? account_id : null
}

/** The granted account, and whether the user has any to grant (Micro Payment Service Interface, section 4.7). */
export async function grantedAccount(tx: Reader, { user_id, account_id }: Granted) {
  const account = account_id === null ? undefined : await tx.get(accounts, account_id)
  const owned = await ownedAccountIds(tx, user_id)
  return { account: account ? { id: account.id, name: account.name } : null, choosable: owned.length > 0 }
}

export type NamedAccount = { readonly id: number; readonly name: string }

/** The business accounts that a user can grant an app, for `Choices`. The field `account` is `none` or an id. */
export const accountChoiceFields = (accounts: readonly NamedAccount[], granted: number | null) => ({
  field: 'account',
  legend: 'Business account',
  note: 'The app can read the account that you pick, and propose changes to it.',
  options: [
    { value: 'none', label: 'None' },
    ...accounts.map((account) => ({ value: String(account.id), label: labelOf(account, accounts) })),
  ],
  chosen: String(granted),
})

const labelOf = ({ id, name }: NamedAccount, all: readonly NamedAccount[]): string =>
  all.some((other) => other.id !== id && other.name === name) ? `${name} (${id})` : name

type Disconnecting = { readonly rules: Pick<LaterRules, 'onDisconnect'> }
type Deleting = Pick<ServiceContext, 'clock' | 'rules'>

/** Ends a connection and the app's pending requests. `actor` is who ended it. */
export async function endConnection(
  tx: Writer,
  connection: ConnectionRow,
  { actor, at }: { actor: string; at: number },
  { rules: { onDisconnect } }: Disconnecting,
): Promise<void> {
  const { id, client_id } = connection
  for (const end of onDisconnect) await end(tx, { connectionId: id, at })
  await removeConnection(tx, connection, { actor, at })
  const [other] = await tx.find(oidcConnections, { index: 'byClient', prefix: [client_id], limit: 1 })
  if (!other) await setUnusedSince(tx, client_id, { unusedSince: at })
}

type OwnConnection = { readonly id: number; readonly userId: number; readonly at: number }

/** Ends one of the user's own connections. Throws `not_found`. */
export async function deleteConnection(tx: Writer, { id, userId, at }: OwnConnection, context: Disconnecting) {
  const row = await getOrNotFound(tx, oidcConnections, id, { user_id: userId })
  if (!(await isConnectionValid(tx, row))) throw problem('not_found')
  await endConnection(tx, row, { actor: `user:${userId}`, at }, context)
}

/** Ends connections of a user's former generations. Returns how many. */
export async function endConnectionsOf(tx: Writer, proven: ProvenUser, context: Disconnecting): Promise<number> {
  const { userId, generation, most, at } = proven
  const oldest = await tx.find(oidcConnections, { index: 'byUser', prefix: [userId], limit: most })
  const ended = oldest.filter(({ user_generation }) => user_generation < generation)
  for (const connection of ended) await endConnection(tx, connection, { actor: 'service', at }, context)
  return ended.length
}

const ENDED_AT_ONCE = 10

/** Deletes a client. Every connection to it is dead at once, and removed in slices. */
export async function deleteClient(tx: Writer, client: OidcClientRow, context: Deleting) {
  tx.put(oidcClients, { ...client, deleted_at: context.clock.now() })
  await endDeletedClient(tx, client.id, context)
}

/** Goes on to end the connections of a deleted client. */
export async function endDeletedClient(tx: Writer, id: string, context: Deleting) {
  const at = context.clock.now()
  const some = await tx.find(oidcConnections, { index: 'byClient', prefix: [id], limit: ENDED_AT_ONCE })
  for (const connection of some) await endConnection(tx, connection, { actor: id, at }, context)
  if (some.length < ENDED_AT_ONCE) tx.remove(oidcClients, id)
  else await setTimer(tx, { kind: CLIENT_DELETED, subject: id, at, now: at })
}
