import { base64url, bytesOf } from '../../base/encoding.js'
import { canonicalJson } from '../../base/hash.js'
import { Problem, problem } from '../../base/problem.js'
import { digest, randomHex } from '../../base/secrets.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { ServiceContext } from '../context.js'
import type { RenderedAnswer } from '../rendered-answer.js'

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
  /** Others can tell whether that service is alive; absent in older rows. */
  readonly attended?: boolean
}

export const idempotency = collection<IdempotencyRow>()('idempotency', { byExpiry: { fields: ['expires_at'] } })

export interface KeyedRequest {
  readonly key: string
  readonly caller: string
  readonly method: string
  readonly path: string
  readonly fields: object
  /** Whether what was stored for it is given again. Throws what is told instead. */
  stands(tx: Writer, stored: RenderedAnswer): Promise<boolean>
}

type Context = Pick<ServiceContext, 'clock' | 'keys' | 'random' | 'instance' | 'storage'>

/** Throws `idempotency_key_invalid`. */
export function checkKey(key: string): string {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw problem('idempotency_key_invalid')
}

/**
 * The answer that was kept for a request, or the place to keep one. A call of several transactions leaves a claim there for as long as it runs.
 * Throws `idempotency_mismatch`, `idempotency_in_progress`, `idempotency_unreadable`.
 */
export async function findStoredAnswer(
  tx: Writer,
  request: KeyedRequest,
  context: Context,
  isDead: IsDead = () => false,
): Promise<AnswerPlace | RenderedAnswer> {
  const at = context.clock.now()
  const place = placeOf(request)
  const kept = await storedAnswerAt(tx, place, { at, isDead }, context)
  if (kept && (await request.stands(tx, kept))) return replayed(kept)
  await removeExpired(tx, at)
  return place
}

/** Tells by its name whether a service is known to have ended. */
export type IsDead = (instance: string) => boolean

/** Where a key's answer is kept, and what it answers. */
export interface AnswerPlace {
  readonly id: string
  readonly body_digest: string
}

const placeOf = ({ caller, method, path, key, fields }: KeyedRequest): AnswerPlace => ({
  id: digest(canonicalJson([caller, method, path, key])),
  body_digest: digest(canonicalJson(fields)),
})

async function storedAnswerAt(
  tx: Reader,
  { id, body_digest }: AnswerPlace,
  { at, isDead }: { readonly at: number; readonly isDead: IsDead },
  context: Context,
): Promise<RenderedAnswer | undefined> {
  const known = await tx.get(idempotency, id)
  if (!known || known.expires_at <= at) return undefined
  if (known.body_digest !== body_digest) throw problem('idempotency_mismatch')
  if (isRunning(known, { at, isDead }, context)) throw new InProgress(known)
  if (known.sealed === null) return undefined
  const stored = await context.keys.open(known.sealed, id)
  if (stored === undefined) throw problem('idempotency_unreadable')
  return readAnswer(stored)
}

function isRunning(
  { claim, claimed_until }: IdempotencyRow,
  { at, isDead }: { readonly at: number; readonly isDead: IsDead },
  { instance, storage }: Context,
): boolean {
  if (claim === null || claimed_until === null || claimed_until <= at) return false
  const by = instanceOf(claim)
  return by === instance || (!storage.exclusive && !isDead(by))
}

const instanceOf = (claim: string): string => claim.slice(0, claim.indexOf(':'))

/** `idempotency_in_progress`, and the service that the first call runs in. */
export class InProgress extends Problem {
  /** Undefined where nobody can tell whether that is alive. */
  readonly instance: string | undefined

  constructor({ claim, attended }: IdempotencyRow) {
    super('idempotency_in_progress', { headers: { 'retry-after': '1' } })
    this.instance = attended && claim !== null ? instanceOf(claim) : undefined
  }
}

async function putAnswer(
  tx: Writer,
  { id, body_digest }: AnswerPlace,
  { outcome, claim, at }: { outcome: RenderedAnswer | null; claim: string | null; at: number },
  { keys, storage }: Context,
): Promise<void> {
  const sealed = outcome && (await keys.seal(writeAnswer(outcome), id))
  const expires_at = at + LIFETIME
  const open =
    claim === null ? { claim, claimed_until: null } : { claim, claimed_until: at + CLAIM, attended: !!storage.presence }
  tx.put(idempotency, { id, body_digest, expires_at, sealed, ...open })
}

/** How long a call of several transactions may run before it is taken for dead: people answer within it, and upstream services. */
const CLAIM = 5 * 60_000

/** A call of several transactions that holds its key. */
export interface Claim extends AnswerPlace {
  readonly claim: string
}

/** Takes a place for a call of several transactions. */
export async function claimKey(tx: Writer, place: AnswerPlace, context: Context): Promise<Claim> {
  const claim = `${context.instance}:${randomHex(context.random, 16)}`
  await putAnswer(tx, place, { outcome: null, claim, at: context.clock.now() }, context)
  return { ...place, claim }
}

/** Keeps the answer of a call that is one transaction, in that transaction. */
export const storeAtOnce = (tx: Writer, place: AnswerPlace, outcome: RenderedAnswer, context: Context): Promise<void> =>
  putAnswer(tx, place, { outcome, claim: null, at: context.clock.now() }, context)

/**
 * Keeps an answer under a claimed key: for good, or, `meanwhile`, until another is kept or the call is taken for dead.
 * Throws `idempotency_in_progress` where another call has the key by now.
 */
export async function storeUnderClaim(
  tx: Writer,
  claim: Claim,
  { answer, provisional }: { answer: RenderedAnswer; provisional: boolean },
  context: Context,
): Promise<void> {
  if (!(await holdsKey(tx, claim))) throw problem('idempotency_in_progress')
  const at = context.clock.now()
  await putAnswer(tx, claim, { outcome: answer, claim: provisional ? claim.claim : null, at }, context)
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

/** Bodies of bytes, as an upstream service gave them, are written in base64url. */
function writeAnswer({ body, status, headers }: RenderedAnswer): string {
  const head = {
    status,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !unstoredHeaders.has(name))),
  }
  return JSON.stringify(body instanceof Uint8Array ? { ...head, bytes: base64url(body) } : { ...head, body })
}

/** What an answer says of the moment it was given at, or of whoever asked then. */
const unstoredHeaders: ReadonlySet<string> = new Set(['retry-after', 'set-cookie', 'x-session-id'])

function readAnswer(stored: string): RenderedAnswer {
  // It was sealed, so it is what `writeOutcome` wrote.
  const { bytes, ...outcome } = JSON.parse(stored) as RenderedAnswer & { bytes?: string }
  return bytes === undefined ? outcome : { ...outcome, body: bytesOf(bytes) }
}

const replayed = (outcome: RenderedAnswer): RenderedAnswer => ({
  ...outcome,
  headers: { ...outcome.headers, 'idempotent-replayed': 'true' },
})

async function removeExpired(tx: Writer, at: number): Promise<void> {
  for (const old of await tx.find(idempotency, { index: 'byExpiry', prefix: [], limit: 5 }))
    if (old.expires_at <= at) tx.remove(idempotency, old.id)
}
