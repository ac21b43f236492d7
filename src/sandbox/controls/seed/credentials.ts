import { bytesToHex } from '@noble/hashes/utils.js'
import { withoutUndefined } from '../../../base/json.js'
import { digest, type Keyring } from '../../../base/secrets.js'
import type { ServiceContext } from '../../../http/context.js'
import { accounts } from '../../../identity/accounts/account.js'
import { clients, userClientSecret } from '../../../identity/tokens/token.js'
import { users } from '../../../identity/users/user.js'
import { allRows } from '../../../storage/page.js'
import type { Reader } from '../../../storage/storage.js'
import { type OwnItem, type SeededClient, sandboxOf } from '../../onion/context.js'
import type { Seed } from './seed-schema.js'

export interface Credentials {
  readonly accounts: readonly AccountCredentials[]
  readonly users: readonly UserCredentials[]
}

export interface AccountCredentials {
  readonly name: string
  readonly public_secret: string
  readonly client_id: string
  readonly client_secret: string
}

export interface UserCredentials {
  readonly email: string
  /** The sign-in code, if the address has a fixed one. */
  readonly code?: string
  readonly client_id: string
  readonly client_secret: string
}

/**
 * Fills in missing credentials of a seed from the sandbox's key. They are the same after every reset and restart, so
 * they can be shown although only their digests are stored. Each account gets the next credentials of its name that are
 * free: in `tx`, if the seed is added to a running sandbox.
 */
export async function fixCredentials(seed: Seed, keys: Keyring, tx?: Reader): Promise<Seed> {
  const taken = new Set<string>()
  const accounts: NonNullable<Seed['accounts']> = []
  for (const account of seed.accounts ?? []) {
    let nth = 0
    let derived = derivedAccount(account.name, nth, keys)
    while (taken.has(derived.client_id) || (await tx?.get(clients, derived.client_id)))
      derived = derivedAccount(account.name, ++nth, keys)
    taken.add(derived.client_id)
    accounts.push({ ...derived, ...withoutUndefined(account) })
  }
  const users = seed.users?.map((user) => {
    return { client_id: derivedUserClient(user.email, keys), ...withoutUndefined(user) }
  })
  return { ...seed, ...(seed.accounts && { accounts }), ...(users && { users }) }
}

/** The items that a seed sells at paths of the service itself, of accounts that it creates. */
export async function ownItemsOf(seed: Seed, keys: Keyring): Promise<OwnItem[]> {
  const items = (seed.items ?? []).filter(({ external_endpoint }) => external_endpoint.startsWith('/'))
  if (items.length === 0) return []
  const { accounts = [] } = await fixCredentials(seed, keys)
  return items.map(({ account, name, external_endpoint: path }) => {
    const publicSecret = accounts.find((each) => each.name === account)?.public_secret
    return { publicSecret, name, path }
  })
}

const derivedHex = (of: string, keys: Keyring): string => bytesToHex(keys.derive('seed', of)).slice(0, 32)

function derivedAccount(name: string, nth: number, keys: Keyring) {
  const of = `account ${name} ${nth}`
  return {
    public_secret: `mp_${derivedHex(`${of} public_secret`, keys)}`,
    client_id: `mid_${derivedHex(`${of} client_id`, keys)}`,
    client_secret: `mc_${derivedHex(`${of} client_secret`, keys)}`,
  }
}

const derivedUserClient = (email: string, keys: Keyring): string => `mid_${derivedHex(`user ${email} client_id`, keys)}`

/**
 * Returns the credentials that work: of the clients of the first seed and of what this process added, and of earlier
 * processes, if the sandbox's key made them.
 */
export async function workingCredentials(tx: Reader, { sandbox, keys }: Pick<ServiceContext, 'sandbox' | 'keys'>) {
  const { firstClients, seededClients } = sandboxOf({ sandbox })
  const candidates = [...(await firstClients()), ...seededClients.values(), ...(await derivedClients(tx, keys))]
  const known: { accounts: AccountCredentials[]; users: UserCredentials[] } = { accounts: [], users: [] }
  for (const candidate of new Map(candidates.map((each) => [each.client_id, each])).values()) {
    const { kind, client_id } = candidate
    const client_secret = kind === 'user' ? userClientSecret(client_id, { keys }) : candidate.client_secret
    const owner = await ownerOf(tx, client_id, client_secret)
    if (owner === undefined) continue
    if (kind === 'account') {
      const account = await tx.get(accounts, owner)
      const { name } = candidate
      if (account) known.accounts.push({ name, public_secret: account.public_secret, client_id, client_secret })
    } else {
      const user = await tx.get(users, owner)
      if (user) known.users.push({ email: user.email, ...codeIn(user.email), client_id, client_secret })
    }
  }
  return known
}

export function clientsIn({ accounts = [], users = [] }: Seed): SeededClient[] {
  const ofAccounts = accounts.map(({ name, client_id = '', client_secret = '' }): SeededClient => {
    return { kind: 'account', name, client_id, client_secret }
  })
  return [...ofAccounts, ...users.map(({ client_id = '' }): SeededClient => ({ kind: 'user', client_id }))]
}

async function derivedClients(tx: Reader, keys: Keyring): Promise<SeededClient[]> {
  const candidates: SeededClient[] = []
  const counts = new Map<string, number>()
  for await (const { name } of allRows(tx, accounts, { index: 'id', prefix: [] })) {
    if (name === null) continue
    const nth = counts.get(name) ?? 0
    counts.set(name, nth + 1)
    candidates.push({ kind: 'account', name, ...derivedAccount(name, nth, keys) })
  }
  for await (const { email } of allRows(tx, users, { index: 'id', prefix: [] }))
    candidates.push({ kind: 'user', client_id: derivedUserClient(email, keys) })
  return candidates
}

async function ownerOf(tx: Reader, clientId: string, clientSecret: string): Promise<number | undefined> {
  const client = await tx.get(clients, clientId)
  return client?.secret_digest === digest(clientSecret) && client.deleted_at === null ? client.owner_id : undefined
}

function codeIn(email: string): { code?: string } {
  const code = /\+code(\d{6})@/.exec(email)?.[1]
  return code === undefined ? {} : { code }
}
