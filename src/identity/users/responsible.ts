import { userIdOf } from '../../base/owner.js'
import type { Reader } from '../../storage/storage.js'
import { isProven, users } from './user.js'

/**
 * The owner whose limits count what `owner` causes: `account:1` or `user:2`. An account can create any number of users,
 * so they count against it until their address is proven.
 */
export async function responsibleFor<O extends string>(tx: Reader, owner: O): Promise<O | `account:${number}`> {
  const id = userIdOf(owner)
  const user = id === undefined ? undefined : await tx.get(users, id)
  return user && !isProven(user) && user.made_by !== null ? `account:${user.made_by}` : owner
}
