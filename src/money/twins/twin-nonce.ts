import { base64url } from '../../base/encoding.js'
import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { isCurrent, seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { countedDaily } from '../../storage/growth.js'
import { collection, type Writer } from '../../storage/storage.js'
import { ownTwin, twinByHostname } from './twin.js'

const TWIN_NONCE_MS = 5 * 60_000

/** A nonce that proves control of a twin once. The id is the nonce's digest. */
export interface TwinNonceRow {
  readonly id: string
  readonly twin_id: number
  /** Of the twin's owner. A nonce of a lower one is dead. */
  readonly generation: number
  readonly expires_at: number
}

export const twinNonces = collection<TwinNonceRow>()(
  'twin_nonces',
  { byExpiry: { fields: ['expires_at'] }, byTwin: { fields: ['twin_id', 'expires_at'] } },
  {
    refs: { twin_id: 'twins' },
    secrets: ['id'],
    growth: countedDaily('an account or user, by createTwinNonce'),
    retention: { after: 'it expires', keepMs: 0, index: 'byExpiry' },
  },
)

/** Creates a nonce for one of the owner's twins. Throws `not_found`, `not_owner`. */
export async function createTwinNonce(
  tx: Writer,
  { owner, hostname, at }: { owner: Owner; hostname: string; at: number },
  { random, rules }: Pick<ServiceContext, 'random' | 'rules'>,
) {
  const twin = await ownTwin(tx, owner, hostname)
  const nonce = base64url(random.bytes(32))
  const generation = await rules.generationOf(tx, owner)
  tx.put(twinNonces, { id: digest(nonce), twin_id: twin.id, generation, expires_at: at + TWIN_NONCE_MS })
  return { nonce, hostname: twin.hostname, expires_at: seconds(at + TWIN_NONCE_MS) }
}

/** Verifies a nonce and spends it. Throws `twin_nonce_refused`. */
export async function verifyTwinNonce(
  tx: Writer,
  { hostname, nonce, at }: { hostname: string; nonce: string; at: number },
  { rules }: Pick<ServiceContext, 'rules'>,
) {
  const twin = await twinByHostname(tx, hostname)
  const row = await tx.get(twinNonces, digest(nonce))
  if (!twin || row?.twin_id !== twin.id || !isCurrent(row.expires_at, TWIN_NONCE_MS, at))
    throw problem('twin_nonce_refused')
  if (row.generation !== (await rules.generationOf(tx, twin.owner))) throw problem('twin_nonce_refused')
  tx.remove(twinNonces, row.id)
  return { valid: true as const, hostname }
}
