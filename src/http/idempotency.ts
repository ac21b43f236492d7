import type { ServiceContext } from '../context.js'
import { canonicalJson } from '../hash.js'
import { Problem, problem } from '../problem.js'
import { digest } from '../secrets.js'
import { collection, type Writer } from '../storage/storage.js'
import { Transaction } from '../storage/transaction.js'
import type { Outcome } from './outcome.js'

const LIFETIME = 24 * 3_600_000

/** An answer given under an Idempotency-Key. The id is a digest of caller, method, path and key. */
export interface IdempotencyRow {
  readonly id: string
  readonly body_digest: string
  readonly expires_at: number
  /** Status, headers and body as JSON, encrypted: answers carry nonces and secrets. */
  readonly sealed: string
}

export const idempotency = collection<IdempotencyRow>()('idempotency', { byExpiry: { fields: ['expires_at'] } })

export interface KeyedRequest {
  readonly key: string
  readonly caller: string
  readonly method: string
  readonly path: string
  readonly fields: object
}

type Context = Pick<ServiceContext, 'clock' | 'keys'>

/** Throws `idempotency_key_invalid`. */
export function checkKey(key: string): string {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw problem('idempotency_key_invalid')
}

/**
 * Runs `effect` once per key, in this transaction, and stores its outcome with it; later calls replay that.
 * A refusal undoes the effect and is stored too, unless it is a 400 or a 5xx.
 * Throws `idempotency_mismatch`; `idempotency_unreadable` rather than run the effect again.
 */
export async function oncePerKey(
  tx: Writer,
  request: KeyedRequest,
  context: Context,
  effect: (tx: Writer) => Promise<Outcome>,
  refused: (problem: Problem) => Outcome,
): Promise<Outcome> {
  const at = context.clock.now()
  const id = digest(canonicalJson([request.caller, request.method, request.path, request.key]))
  const body_digest = digest(canonicalJson(request.fields))
  const known = await tx.get(idempotency, id)
  if (known && known.expires_at > at) {
    if (known.body_digest !== body_digest) throw problem('idempotency_mismatch')
    const stored = await context.keys.open(known.sealed, id)
    if (stored === undefined) throw problem('idempotency_unreadable')
    return replayed(JSON.parse(stored) as Outcome)
  }
  await sweep(tx, at)
  const outcome = await attempt(tx, effect, refused)
  const sealed = await context.keys.seal(JSON.stringify(outcome), id)
  tx.put(idempotency, { id, body_digest, expires_at: at + LIFETIME, sealed })
  return outcome
}

async function attempt(
  tx: Writer,
  effect: (tx: Writer) => Promise<Outcome>,
  refused: (problem: Problem) => Outcome,
): Promise<Outcome> {
  const part = new Transaction(tx)
  try {
    const outcome = await effect(part)
    part.into(tx)
    return outcome
  } catch (error) {
    if (!(error instanceof Problem) || error.status === 400 || error.status >= 500) throw error
    return refused(error)
  }
}

const replayed = (outcome: Outcome): Outcome => ({
  ...outcome,
  headers: { ...outcome.headers, 'idempotent-replayed': 'true' },
})

async function sweep(tx: Writer, at: number): Promise<void> {
  for (const old of await tx.find(idempotency, { index: 'byExpiry', prefix: [], limit: 5 }))
    if (old.expires_at <= at) tx.remove(idempotency, old.id)
}
