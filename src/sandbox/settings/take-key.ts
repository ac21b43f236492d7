import { keyring } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { keptKey } from './settings.js'

/**
 * Takes the key of the state, if it stores one. The parent of a fork may have another one than its state had in the past,
 * or than it had when it was forked, and a different process may have changed it.
 */
export async function takeKey({ storage, storesKey, keys, random, changeKeys }: ServiceContext): Promise<void> {
  const key = storesKey ? (await storage.read(keptKey)).key : undefined
  if (key === undefined) return
  const own = keyring(key, random)
  // The keyring of the parent remembers what it has derived.
  if (own.deriveUuid('fork', '') !== keys.deriveUuid('fork', '')) changeKeys(own)
}
