import type { Random } from './ports.js'
import { hexOf, type Keyring, randomHex, sameSecret } from './secrets.js'
import { isCurrent } from './time.js'

/** A cookie with a keyed digest says where a user signed in by a code. It decides whom a limit counts, and signs nobody in. */

/** How long a browser counts as proven, in milliseconds. Browsers keep no cookie longer. */
export const DEVICE_LIFETIME = 400 * 86_400_000
const MOST_USERS = 3

/** A random id, when it was made, and the digest. */
const TOKEN = /^([0-9a-f])[0-9a-f]{31}-[0-9a-z]{1,9}-[0-9a-f]{32}$/

interface DeviceUser {
  readonly userId: number
  readonly at: number
}

/** The place of a proven browser among 16 of a user, who has no more of them. Undefined if `cookie` does not prove it. */
export function provenDevice(cookie: string | undefined, user: DeviceUser, keys: Keyring): string | undefined {
  for (const token of tokensOf(cookie)) {
    const [, place] = TOKEN.exec(token) ?? []
    const [id = '', made = '', mac = ''] = token.split('-')
    const isLasting = isCurrent(Number.parseInt(made, 36) + DEVICE_LIFETIME, DEVICE_LIFETIME, user.at)
    if (place !== undefined && isLasting && sameSecret(macOf({ id, made }, user, keys), mac)) return place
  }
  return undefined
}

/** The value of the cookie for a browser in which the user has signed in. `cookie` is what it has until now. */
export function newProvenDevice(
  cookie: string | undefined,
  user: DeviceUser,
  { keys, random }: { readonly keys: Keyring; readonly random: Random },
): string {
  const [id, made] = [randomHex(random, 16), user.at.toString(36)]
  const token = [id, made, macOf({ id, made }, user, keys)].join('-')
  return [token, ...tokensOf(cookie).filter((each) => TOKEN.test(each))].slice(0, MOST_USERS).join('.')
}

const tokensOf = (cookie = ''): string[] => cookie.split('.', MOST_USERS)

const macOf = ({ id, made }: { id: string; made: string }, { userId }: DeviceUser, keys: Keyring): string =>
  hexOf(keys.derive('proven device', `${userId}:${id}:${made}`)).slice(0, 32)
