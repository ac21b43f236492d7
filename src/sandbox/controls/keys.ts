import { randomHex } from '../../base/secrets.js'
import { signingAlgorithms } from '../../consent/oidc/clients/client.js'
import { makeKeys, publishedKeys, rotateKeys as rotate } from '../../consent/oidc/keys.js'
import type { ServiceContext } from '../../http/context.js'
import { keepKey, keepKeySalt, takeKey } from '../settings/settings.js'

export async function rotateOidcKeys(service: ServiceContext): Promise<{ kids: string[] }> {
  const made = await makeKeys(signingAlgorithms)
  return service.storage.write(async (tx) => {
    const at = service.clock.now()
    await rotate(tx, made, at, service)
    return { kids: (await publishedKeys(tx, at)).map(({ kid }) => kid) }
  })
}

export async function forgetEncryptionKey(service: ServiceContext): Promise<void> {
  const { background, random, storage, stateKey } = service
  const drawn = randomHex(random, 32)
  await background.rest(async () => {
    // Whoever sets the key by an option does not want it in the state.
    await storage.write(async (tx) => (stateKey.given ? keepKeySalt(tx, drawn) : keepKey(tx, drawn)))
    await takeKey(service)
  }, 'state')
}
