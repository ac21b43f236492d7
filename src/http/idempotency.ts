import type { ServiceContext } from '../context.js'
import { base64url, bytesOf } from '../encoding.js'
import { canonicalJson } from '../hash.js'
import { Problem, type ProblemCode, problem } from '../problem.js'
import { digest, randomHex } from '../secrets.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'
import { Transaction } from '../storage/transaction.js'
import type { Outcome } from './outcome.js'

const LIFETIME = 24 * 3_600_000

/** An answer given under an Idempotency-Key. The id is a digest of caller, method, path and key. */
export interface IdempotencyRow {
  readonly id: string
  readonly body_digest: string
  readonly expires_at: number
  /** Status, headers and body as JSON, encrypted: answers carry nonces and secrets. Null while there is none. */
  readonly sealed: string | null
  /** Names the call that runs under the key in several transactions, first its service; null once it has ended. */
  readonly claim: string | null
  /** When that call is taken for dead. */
  readonly claimed_until: number | null
}

export const idempotency = collection<IdempotencyRow>()('idempotency', { byExpiry: { fields: ['expires_at'] } })

export interface KeyedRequest {
  readonly key: string
  readonly caller: string
  readonly method: string
  readonly path: string
  readonly fields: object
}

type Context = Pick<ServiceContext, 'clock' | 'keys' | 'random' | 'instance' | 'storage'>

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
  const place = placeOf(request)
  const kept = await keptOutcome(tx, place, at, context)
  if (kept) return kept
  await sweep(tx, at)
  const outcome = await attempt(tx, effect, refused)
  await putOutcome(tx, place, { outcome, claim: null, at }, context)
  return outcome
}

/** Where a key's answer is kept, and what it answers. */
export interface KeyedPlace {
  readonly id: string
  readonly body_digest: string
}

const placeOf = ({ caller, method, path, key, fields }: KeyedRequest): KeyedPlace => ({
  id: digest(canonicalJson([caller, method, path, key])),
  body_digest: digest(canonicalJson(fields)),
})

/** The answer that was kept. Throws `idempotency_mismatch`, `idempotency_in_progress`, `idempotency_unreadable`. */
async function keptOutcome(
  tx: Reader,
  { id, body_digest }: KeyedPlace,
  at: number,
  { keys, instance, storage }: Context,
): Promise<Outcome | undefined> {
  const known = await tx.get(idempotency, id)
  if (!known || known.expires_at <= at) return undefined
  if (known.body_digest !== body_digest) throw problem('idempotency_mismatch')
  const isAlive = known.claim?.startsWith(instance) || !storage.exclusive
  if (known.claim !== null && isAlive && (known.claimed_until as number) > at)
    throw problem('idempotency_in_progress', { headers: { 'retry-after': '1' } })
  if (known.sealed === null) return undefined
  const stored = await keys.open(known.sealed, id)
  if (stored === undefined) throw problem('idempotency_unreadable')
  return replayed(readOutcome(stored))
}

async function putOutcome(
  tx: Writer,
  { id, body_digest }: KeyedPlace,
  { outcome, claim, at }: { outcome: Outcome | null; claim: string | null; at: number },
  { keys }: Context,
): Promise<void> {
  const sealed = outcome && (await keys.seal(writeOutcome(outcome), id))
  const claimed_until = claim === null ? null : at + CLAIM
  tx.put(idempotency, { id, body_digest, expires_at: at + LIFETIME, sealed, claim, claimed_until })
}

/** How long a call of several transactions may run before it is taken for dead: people answer within it, and upstream services. */
const CLAIM = 5 * 60_000

/** A call of several transactions that holds its key. */
export interface Claim extends KeyedPlace {
  readonly claim: string
}

/**
 * Takes a key for a call of several transactions, or gives the answer that was kept under it.
 * Throws `idempotency_mismatch`, `idempotency_in_progress`, `idempotency_unreadable`.
 */
export async function claimKey(tx: Writer, request: KeyedRequest, context: Context): Promise<Claim | Outcome> {
  const at = context.clock.now()
  const place = placeOf(request)
  const kept = await keptOutcome(tx, place, at, context)
  if (kept) return kept
  await sweep(tx, at)
  const claim = `${context.instance}:${randomHex(context.random, 16)}`
  await putOutcome(tx, place, { outcome: null, claim, at }, context)
  return { ...place, claim }
}

/**
 * Keeps an answer under a claimed key, or none any more: for good, or, `meanwhile`, until another is kept or the call is taken for dead.
 * Throws `idempotency_in_progress` where another call has the key by now.
 */
export async function keepOutcome(
  tx: Writer,
  claim: Claim,
  { outcome, meanwhile }: { outcome: Outcome | null; meanwhile: boolean },
  context: Context,
): Promise<void> {
  if (!(await holdsKey(tx, claim))) throw problem('idempotency_in_progress')
  const at = context.clock.now()
  await putOutcome(tx, claim, { outcome, claim: meanwhile ? claim.claim : null, at }, context)
}

/** Whether a call still runs under its key: none has taken that over, and no answer was kept for good. */
export const holdsKey = async (tx: Reader, { id, claim }: Claim): Promise<boolean> =>
  (await tx.get(idempotency, id))?.claim === claim

/** Ends a call that failed: what it kept meanwhile stands; where there is nothing, the key is as if it had not been used. */
export async function releaseKey(tx: Writer, { id }: Claim): Promise<void> {
  const known = await tx.get(idempotency, id)
  if (!known || known.sealed === null) tx.remove(idempotency, id)
  else tx.put(idempotency, { ...known, claim: null, claimed_until: null })
}

/** Whether a refusal is an answer like any other: what time, the caller or their user may mend is not kept. */
export const isKept = ({ status, code }: Problem): boolean =>
  status < 500 && ![400, 408, 409, 429].includes(status) && !awaited.has(code)

/** Refusals until somebody else has acted: the same request is then sent again. */
const awaited: ReadonlySet<ProblemCode> = new Set(['approval_not_given', 'account_not_granted'])

/** Bodies of bytes, as an upstream service gave them, are written in base64url. */
const writeOutcome = ({ body, ...head }: Outcome): string =>
  JSON.stringify(body instanceof Uint8Array ? { ...head, bytes: base64url(body) } : { ...head, body })

function readOutcome(stored: string): Outcome {
  const { bytes, ...outcome } = JSON.parse(stored) as Outcome & { bytes?: string }
  return bytes === undefined ? outcome : { ...outcome, body: bytesOf(bytes) }
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
