import { memoize } from '../../base/memo.js'
import { problem } from '../../base/problem.js'
import { digest, hexOf, randomHex, sameSecret } from '../../base/secrets.js'
import { isAhead, isCurrent, seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import { type RateLimit, spendRate } from '../../jobs/rates/rate.js'
import { allRows } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** Client credentials of an account or user. The id is the client_id. */
export interface ClientRow {
  readonly id: string
  readonly owner_kind: 'account' | 'user'
  readonly owner_id: number
  readonly secret_digest: string
  readonly created_at: number
  readonly updated_at: number
  readonly deleted_at: number | null
}

export const clients = collection<ClientRow>()(
  'clients',
  { byRevocation: { fields: ['deleted_at'] }, byOwner: { fields: ['owner_kind', 'owner_id', 'created_at'] } },
  {
    refs: { owner_id: null },
    secrets: ['secret_digest'],
    growth: { by: 'an account or user, by createUserSecrets', bound: 'At most three for each account and user.' },
    retention: { after: 'the credentials are revoked', keepMs: 90 * DAY, index: 'byRevocation' },
  },
)

export interface NewClient {
  readonly kind: 'account' | 'user'
  readonly id: number
  readonly at: number
  /** Fixed by a seed. */
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
}

/** Creates client credentials. An account's secret is random and shown once. A user's is derived and can be shown again. */
export async function createClient(
  tx: Writer,
  { kind, id, at, clientId, clientSecret }: NewClient,
  { random, keys }: Pick<ServiceContext, 'random' | 'keys'>,
): Promise<{ client: ClientRow; client_secret: string }> {
  const client_id = clientId ?? `mid_${randomHex(random, 16)}`
  const client_secret =
    clientSecret ?? (kind === 'user' ? userClientSecret(client_id, { keys }) : `mc_${randomHex(random, 16)}`)
  const client: ClientRow = {
    id: client_id,
    owner_kind: kind,
    owner_id: id,
    secret_digest: digest(client_secret),
    created_at: at,
    updated_at: at,
    deleted_at: null,
  }
  tx.put(clients, client)
  return { client, client_secret }
}

/** A user's client secret, which they may read again. It is derived from the client id, so that it is not stored. */
export const userClientSecret = (clientId: string, { keys }: Pick<ServiceContext, 'keys'>): string =>
  `mc_${hexOf(keys.derive('client secret', clientId)).slice(0, 32)}`

/** Whether a client was created after another, which may have leaked: then nothing leads from that one to it. */
export const isNewer = (client: ClientRow, than: ClientRow): boolean => client.created_at > than.created_at

export const clientsOf = (tx: Reader, kind: 'account' | 'user', id: number): Promise<ClientRow[]> =>
  tx.find(clients, { index: 'byOwner', prefix: [kind, id], limit: 100 })

/** Wrong secrets for one client id. Client ids are public, so this stops only callers whose secret is wrong. */
export const clientFailures: RateLimit = {
  kind: 'client_failures',
  most: 20,
  windowMs: 60_000,
  code: 'too_many_failures',
}

/** The client of these credentials, or `client_unknown`, which is returned because it must count. Throws `too_many_failures`. */
export async function checkClient(tx: Writer, sent: { client_id: string; client_secret: string }, at: number) {
  const client = await tx.get(clients, sent.client_id)
  const matches = sameSecret(digest(sent.client_secret), client?.secret_digest ?? '')
  if (!client) return problem('client_unknown')
  if (matches && client.deleted_at === null) return client
  await countFailure(tx, client.id, at)
  return problem('client_unknown')
}

/** Counts a wrong secret. Throws `too_many_failures`. A right one is never refused: nobody guesses its 128 random bits. */
export const countFailure = (tx: Writer, clientId: string, at: number): Promise<void> =>
  spendRate(tx, clientFailures, { subject: clientId, at })

const HOUR = 3_600_000
const ACCESS_LIFETIME = HOUR
const REFRESH_LIFETIME = 24 * HOUR
/** An access token with this much time left is returned again (Micro Payment Service Interface, section 4.1). */
const REUSE_WINDOW = 5 * 60_000

/** An access token and its refresh token. Both are derived from the id, and found by their digests. */
export interface TokenRow {
  readonly id: string
  readonly client_id: string
  /** The id of the first token, which came from client credentials. All tokens refreshed from it have the same family. */
  readonly family_id: string
  readonly owner_kind: 'account' | 'user'
  readonly owner_id: number
  readonly access_digest: string
  readonly access_expires_at: number
  /** Null once the refresh token was used. */
  readonly refresh_digest: string | null
  readonly refresh_expires_at: number
}

export const tokens = collection<TokenRow>()(
  'tokens',
  {
    byAccess: { fields: ['access_digest'], unique: true },
    byRefresh: { fields: ['refresh_digest'], unique: true },
    byEnd: { fields: ['refresh_expires_at'] },
    byClient: { fields: ['client_id', 'access_expires_at'] },
    // Contains only rows with an unused refresh token: only those may be returned again.
    unused: { fields: ['client_id', 'access_expires_at', 'refresh_digest'] },
  },
  {
    refs: { client_id: 'clients', family_id: null, owner_id: null },
    secrets: ['id', 'family_id', 'access_digest', 'refresh_digest'],
    growth: {
      by: 'a client, by its secret or a refresh token',
      bound:
        'Fifty pairs for one client: one more ends the oldest. An unused pair is returned again, so there is a new one only after a refresh or half of its time.',
    },
    retention: { after: 'the refresh token expires', keepMs: 0, index: 'byEnd' },
  },
)

/** A token pair, with times in Unix seconds (Micro Payment Service Interface, section 2). */
export type TokenPair = { access_token: string; expires_at: number; refresh_token: string; refresh_expires_at: number }

/** Valid token pairs of one client, so that revoking it ends few. One more ends the oldest refreshed one, or else the oldest. */
const MOST_PAIRS = 50
type TokenContext = Pick<ServiceContext, 'keys' | 'random'>

/** The client's last token pair, if its access token has five minutes left. Otherwise a new one. */
export async function tokenForClient(tx: Writer, client: ClientRow, at: number, context: TokenContext) {
  const newest = await tx.find(tokens, { index: 'unused', prefix: [client.id], limit: 20, reverse: true })
  // Tokens that were issued ahead of the clock are useless, and would hide later ones.
  const isUseless = ({ access_expires_at }: TokenRow) => isAhead(access_expires_at - ACCESS_LIFETIME, at)
  for (const useless of newest.filter(isUseless)) tx.remove(tokens, useless.id)
  const last = newest.find((row) => !isUseless(row))
  const pair = last && last.access_expires_at - at >= REUSE_WINDOW ? shownPair(last, context) : undefined
  // After a state moved without its key, the derived token differs from the one that was issued.
  if (pair && accessDigest(pair.access_token) === last?.access_digest) return pair
  return issue(tx, client, at, context)
}

/** Spends a refresh token for a new pair. Throws `refresh_token_invalid`, also if the client was revoked. */
export async function refresh(tx: Writer, refreshToken: string, at: number, context: TokenContext): Promise<TokenPair> {
  const found = await refreshable(tx, refreshToken, at)
  if (!found) throw problem('refresh_token_invalid')
  const { row, client } = found
  tx.put(tokens, { ...row, refresh_digest: null })
  return issue(tx, client, at, context, row.family_id)
}

/** Whether a pair's refresh token is unused and unexpired, and its client not revoked. */
export const isUnused = async (tx: Reader, { refresh_token }: TokenPair, at: number): Promise<boolean> =>
  (await refreshable(tx, refresh_token, at)) !== undefined

async function refreshable(tx: Reader, refreshToken: string, at: number) {
  const [row] = await tx.find(tokens, { index: 'byRefresh', prefix: [digest(refreshToken)], limit: 1 })
  const client = row && (await tx.get(clients, row.client_id))
  return row && client?.deleted_at === null && isRefreshCurrent(row, at) ? { row, client } : undefined
}

/** Memoized, because a client sends the same access token many times. */
const accessDigest = memoize(digest, 1 << 20)

/** Returns an access token's row. Undefined if the token is unknown or has expired. */
export async function findAccessToken(tx: Reader, accessToken: string, at: number): Promise<TokenRow | undefined> {
  const [row] = await tx.find(tokens, { index: 'byAccess', prefix: [accessDigest(accessToken)], limit: 1 })
  return row && isCurrent(row.access_expires_at, ACCESS_LIFETIME, at) ? row : undefined
}

/** Whose a token was, even if it has expired, or is a refresh token. Undefined if it is unknown. */
export async function ownerOfPair(tx: Reader, token: string): Promise<TokenRow['owner_kind'] | undefined> {
  for (const index of ['byAccess', 'byRefresh'] as const) {
    const [row] = await tx.find(tokens, { index, prefix: [digest(token)], limit: 1 })
    if (row) return row.owner_kind
  }
  return undefined
}

const isRefreshCurrent = ({ refresh_expires_at }: TokenRow, at: number): boolean =>
  isCurrent(refresh_expires_at, REFRESH_LIFETIME, at)

async function issue(tx: Writer, client: ClientRow, at: number, context: TokenContext, familyId?: string) {
  const whole = seconds(at) * 1000
  const id = randomHex(context.random, 16)
  const row: TokenRow = {
    id,
    client_id: client.id,
    family_id: familyId ?? id,
    owner_kind: client.owner_kind,
    owner_id: client.owner_id,
    access_digest: digest(derived('access token', id, context)),
    access_expires_at: whole + ACCESS_LIFETIME,
    refresh_digest: digest(derived('refresh token', id, context)),
    refresh_expires_at: whole + REFRESH_LIFETIME,
  }
  const kept = await tx.find(tokens, { index: 'byClient', prefix: [client.id], limit: MOST_PAIRS })
  // First those that cannot be refreshed any more. The others are ordered by their ends.
  const isSpent = (pair: TokenRow) => pair.refresh_digest === null || !isRefreshCurrent(pair, at)
  const useless = kept.find(isSpent) ?? kept[0]
  if (useless && kept.length === MOST_PAIRS) tx.remove(tokens, useless.id)
  tx.put(tokens, row)
  const owner = `${client.owner_kind}:${client.owner_id}` as const
  const data = { client_id: client.id, expires_at: seconds(row.access_expires_at) }
  await recordEvent(tx, { owners: [owner], type: 'token.issued', actor: client.id, subject: null, data, at })
  return shownPair(row, context)
}

const shownPair = (row: TokenRow, context: TokenContext): TokenPair => ({
  access_token: derived('access token', row.id, context),
  expires_at: seconds(row.access_expires_at),
  refresh_token: derived('refresh token', row.id, context),
  refresh_expires_at: seconds(row.refresh_expires_at),
})

const derived = (purpose: string, id: string, { keys }: TokenContext): string =>
  `tqmt_${hexOf(keys.derive(purpose, id)).slice(0, 32)}`

/** Revokes client credentials and all their tokens. */
export async function revokeClient(tx: Writer, client: ClientRow, at: number): Promise<void> {
  tx.put(clients, { ...client, updated_at: at, deleted_at: at })
  for await (const { id } of allRows(tx, tokens, { index: 'byClient', prefix: [client.id] })) tx.remove(tokens, id)
}
