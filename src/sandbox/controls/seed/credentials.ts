import { bytesToHex } from '@noble/hashes/utils.js'
import { withoutUndefined } from '../../../base/json.js'
import { digest, type Keyring } from '../../../base/secrets.js'
import { accounts } from '../../../identity/accounts/account.js'
import { clients, userClientSecret } from '../../../identity/tokens/client.js'
import { users } from '../../../identity/users/user.js'
import type { Reader } from '../../../storage/storage.js'
import type { Seed } from './seed-schema.js'

/** The credentials of a seed that work. */
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
 * they can be shown although only their digests are stored.
 */
export function fixCredentials(seed: Seed, keys: Keyring): Seed {
  const derived = (of: string) => bytesToHex(keys.derive('seed', of)).slice(0, 32)
  const fixed: { accounts?: Seed['accounts']; users?: Seed['users'] } = {}
  if (seed.accounts)
    fixed.accounts = seed.accounts.map((account, at, all) => {
      const same = all.slice(0, at).filter(({ name }) => name === account.name).length
      const of = `account ${account.name} ${same}`
      return {
        public_secret: `mp_${derived(`${of} public_secret`)}`,
        client_id: `mid_${derived(`${of} client_id`)}`,
        client_secret: `mc_${derived(`${of} client_secret`)}`,
        ...withoutUndefined(account),
      }
    })
  if (seed.users)
    fixed.users = seed.users.map((user) => ({
      client_id: `mid_${derived(`user ${user.email} client_id`)}`,
      ...withoutUndefined(user),
    }))
  return { ...seed, ...fixed }
}

/** Returns the credentials of a seed that work, because the state may come from a different seed. */
export async function knownCredentials(tx: Reader, given: Seed, keys: Keyring): Promise<Credentials> {
  const seed = fixCredentials(given, keys)
  const known: { accounts: AccountCredentials[]; users: UserCredentials[] } = { accounts: [], users: [] }
  for (const { name, client_id = '', client_secret = '' } of seed.accounts ?? []) {
    const owner = await ownerOf(tx, client_id, client_secret)
    const account = owner === undefined ? undefined : await tx.get(accounts, owner)
    if (account) known.accounts.push({ name, public_secret: account.public_secret, client_id, client_secret })
  }
  for (const { client_id = '' } of seed.users ?? []) {
    const client_secret = userClientSecret(client_id, { keys })
    const owner = await ownerOf(tx, client_id, client_secret)
    const user = owner === undefined ? undefined : await tx.get(users, owner)
    if (user) known.users.push({ email: user.email, ...codeIn(user.email), client_id, client_secret })
  }
  return known
}

async function ownerOf(tx: Reader, clientId: string, clientSecret: string): Promise<number | undefined> {
  const client = await tx.get(clients, clientId)
  return client?.secret_digest === digest(clientSecret) && client.deleted_at === null ? client.owner_id : undefined
}

function codeIn(email: string): { code?: string } {
  const code = /\+code(\d{6})@/.exec(email)?.[1]
  return code === undefined ? {} : { code }
}
