import { publishedKeys, rotateKeys as rotate } from '../../consent/oidc/keys.js'
import type { ServiceContext } from '../../http/context.js'

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
