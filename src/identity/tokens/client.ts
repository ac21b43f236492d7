import { hexOf } from '../../base/encoding.js'
import { problem } from '../../base/problem.js'
import { digest, randomHex, sameSecret } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { type RateLimit, spendRate } from '../../jobs/rates/rate.js'
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

/**
 * Returns the client of these credentials, or `client_unknown`: the client id is unknown or revoked, or the secret is wrong.
 * It does not throw the problem, because a wrong secret must count. Throws `too_many_failures`.
 */
export async function checkClient(tx: Writer, sent: { client_id: string; client_secret: string }, at: number) {
  const client = await tx.get(clients, sent.client_id)
  const matches = sameSecret(digest(sent.client_secret), client?.secret_digest ?? '')
  if (!client) return problem('client_unknown')
  if (matches && client.deleted_at === null) return client
  await countFailure(tx, client.id, at)
  return problem('client_unknown')
}

/**
 * Counts a wrong secret for an existing client id. Throws `too_many_failures`. A right secret is never refused: it has 128
 * random bits, so the limit need not keep anybody from guessing it, and only saves work.
 */
export const countFailure = (tx: Writer, clientId: string, at: number): Promise<void> =>
  spendRate(tx, clientFailures, { subject: clientId, at })
