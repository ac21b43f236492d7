import type { Owner } from '../../../base/owner.js'
import { problem } from '../../../base/problem.js'
import { accounts } from '../../../identity/accounts/account.js'
import { userByEmail } from '../../../identity/users/user.js'
import { allQuantities, type DigitalQuantityRow } from '../../../money/digital-quantities/digital-quantity.js'
import { primaryTwin, type TwinRow, twinByHostname } from '../../../money/twins/twin.js'
import { allRows } from '../../../storage/page.js'
import type { Reader } from '../../../storage/storage.js'

export type AccountNames = ReadonlyMap<string, readonly number[]>

export async function accountNames(tx: Reader): Promise<AccountNames> {
  const names = new Map<string, number[]>()
  for await (const { id, name } of allRows(tx, accounts, { index: 'id', prefix: [] }))
    if (name !== null) names.set(name, [...(names.get(name) ?? []), id])
  return names
}

export const payeeNamed = (tx: Reader, owner: Owner, hostname: string | undefined): Promise<TwinRow | undefined> =>
  hostname === undefined ? primaryTwin(tx, owner) : twinByHostname(tx, hostname)

/** Returns the newest digital quantity with a shortcode, so that a seed's own comes first. */
export async function quantityNamed(tx: Reader, name: string | undefined): Promise<DigitalQuantityRow> {
  const all = await allQuantities(tx)
  const found = name === undefined ? all[0] : all.findLast(({ id, shortcode }) => id === name || shortcode === name)
  if (!found) throw problem('dq_unknown', { detail: `The seed refers to "${name}". Add it, or correct the name.` })
  return found
}

export const accountOwner = (accountId: number): Owner => `account:${accountId}`

/** Returns the id of the one account with a name. Throws `field_invalid`. */
export function accountNamed(names: AccountNames, name: string): number {
  const [id, ...more] = names.get(name) ?? []
  if (id !== undefined && more.length === 0) return id
  const known = id === undefined ? 'which nobody has' : `which ${more.length + 1} accounts have`
  throw problem('field_invalid', { detail: `The seed refers to an account by the name "${name}", ${known}.` })
}

/** The owner that a seed names for a twin or wallet. Throws `field_invalid`. */
export async function twinOwner(
  tx: Reader,
  { account, user }: { account?: string | undefined; user?: string | undefined },
  names: AccountNames,
): Promise<Owner> {
  if (account !== undefined && user === undefined) return accountOwner(accountNamed(names, account))
  if (user !== undefined && account === undefined) return userKnownAs(tx, user)
  throw problem('field_invalid', { detail: 'A twin or wallet in a seed needs either "account" or "user".' })
}

async function userKnownAs(tx: Reader, email: string): Promise<Owner> {
  const user = await userByEmail(tx, email)
  if (user) return `user:${user.id}`
  const detail = `The seed refers to the user ${email}, who does not exist. Add the user to the seed.`
  throw problem('field_invalid', { detail })
}
