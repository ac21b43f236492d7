import { randomHex } from '../../base/secrets.js'
import { publishedKeys, rotateKeys as rotate } from '../../consent/oidc/keys.js'
import type { ServiceContext } from '../../http/context.js'
import { keepKey, keepKeySalt } from '../settings/settings.js'
import { takeKey } from '../settings/take-key.js'

/**
 * Rotates the key that signs OIDC tokens. The old key stays published for a day. Returns the ids of all keys, the new
 * one first.
 */
export const rotateOidcKeys = (service: ServiceContext): Promise<{ kids: string[] }> =>
  service.storage.write(async (tx) => {
    const at = service.clock.now()
    await rotate(tx, at, service)
    return { kids: (await publishedKeys(tx, at)).map(({ kid }) => kid) }
  })

/**
 * Replaces the encryption key by a new one, as if it were lost: nothing that it encrypted can be read any more, and
 * secrets that it derived are others.
 */
export async function forgetEncryptionKey(service: ServiceContext): Promise<void> {
  const { background, random, storage, stateKey } = service
  const drawn = randomHex(random, 32)
  await background.rest(async () => {
    // Whoever sets the key by an option does not want it in the state.
    await storage.write(async (tx) => (stateKey.given ? keepKeySalt(tx, drawn) : keepKey(tx, drawn)))
    await takeKey(service)
  }, 'state')
}
