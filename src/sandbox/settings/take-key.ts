import { type Keyring, keyring } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import type { Reader } from '../../storage/storage.js'
import { keptKey, keptKeySalt } from './settings.js'

/**
 * Takes the key of the state, if it has one. The parent of a fork may have another one than its state had in the past, or
 * than it had when it was forked, and a different process may have changed it.
 */
export async function takeKey(service: ServiceContext): Promise<void> {
  const own = await service.storage.read((tx) => keysOf(tx, service))
  // The keyring of the parent remembers what it has derived.
  if (own && own.deriveUuid('fork', '') !== service.keys.deriveUuid('fork', '')) service.stateKey.change(own)
}

/**
 * Returns the keys of a state: by the key that it stores, or by the one that an option sets. Once that is forgotten, by one
 * that is derived from it, which all processes with the option derive alike.
 */
export async function keysOf(
  tx: Reader,
  { stateKey: { given }, random }: Pick<ServiceContext, 'stateKey' | 'random'>,
): Promise<Keyring | undefined> {
  if (given) {
    const salt = await keptKeySalt(tx)
    return salt === undefined ? given : keyring(given.derive('forgotten', salt), random)
  }
  const { key } = await keptKey(tx)
  return key === undefined ? undefined : keyring(key, random)
}
