import { publishedKeys, rotateKeys as rotate } from '../../consent/oidc/keys.js'
import type { ServiceContext } from '../../http/context.js'

/** Has a new key sign OIDC tokens; the old one stays published for a day. Gives the ids of all that are, the new one first. */
export const rotateOidcKeys = (service: ServiceContext): Promise<{ kids: string[] }> =>
  service.storage.write(async (tx) => {
    const at = service.clock.now()
    await rotate(tx, at, service)
    return { kids: (await publishedKeys(tx, at)).map(({ kid }) => kid) }
  })
