import { problem } from '../../base/problem.js'
import { base64url, bytesOf, canonicalJson, digest } from '../../base/secrets.js'
import { withoutEnd } from '../../base/text/ends.js'
import { isHeld } from '../../storage/claim.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import type { ServiceContext } from '../context.js'
import type { Incoming } from '../incoming.js'
import type { RenderedAnswer } from '../rendered-answer.js'
import type { Call, Principal, Route } from '../route.js'

const KEY_MS = 24 * 3_600_000

/** A stored answer. The id is a digest of caller, method, path and Idempotency-Key. */
export interface IdempotencyRow {
  readonly id: string
  readonly body_digest: string
  readonly expires_at: number
  /** Status, headers and body as JSON, encrypted because answers hold nonces and secrets. Null while there is none. */
  readonly sealed: string | null
  /** The claim of the call in progress, if it has several transactions. Null when it has ended. */
  readonly claim: string | null
}

export const idempotency = collection<IdempotencyRow>()(
  'idempotency',
  { byExpiry: { fields: ['expires_at'] } },
  {
    secrets: ['id', 'body_digest', 'sealed'],
    growth: {
      by: 'whoever sends an Idempotency-Key',
      bound:
        'One for each call. It ends after a day. Those beyond 8 KiB have `limits.storedBytesPerDay` in all, per owner.',
    },
    retention: {
      after: 'it expires, a day after the call',
      keepMs: 0,
      index: 'byExpiry',
      unless: 'the call still runs',
      // A sandbox's clock may jump while a call runs. Its answer needs the row.
      async spared(tx, rows, claimant) {
        const held = new Set<string>()
        for (const { id, claim } of rows) if (await isHeld(tx, claim, claimant)) held.add(id)
        return held
      },
    },
  },
)

export interface KeyedRequest {
  readonly key: string
  readonly caller: string
  readonly method: string
  readonly path: string
  readonly fields: object
  /** Whether a stored answer may be sent again. May throw a problem to answer with instead. */
  isStillValid(tx: Writer, stored: RenderedAnswer): Promise<boolean>
}

type Context = Pick<ServiceContext, 'clock' | 'keys' | 'instance' | 'ongoing' | 'storage'>

/** The stored answer, or its place. Throws `idempotency_mismatch`, `idempotency_in_progress`, `idempotency_unreadable`. */
export async function findStoredAnswer(tx: Writer, request: KeyedRequest, context: Context) {
  const place = answerPlace(request)
  const kept = await storedAnswerAt(tx, place, context)
  if (kept && (await request.isStillValid(tx, kept))) return replayed(kept)
  return place
}

/** Where an answer is stored, and the digest of its request's body. */
export interface AnswerPlace {
  readonly id: string
  readonly body_digest: string
}

const answerPlace = ({ caller, method, path, key, fields }: KeyedRequest): AnswerPlace => ({
  id: digest(canonicalJson([caller, method, path, key])),
  body_digest: digest(canonicalJson(fields)),
})

async function storedAnswerAt(tx: Reader, { id, body_digest }: AnswerPlace, context: Context) {
  const known = await tx.get(idempotency, id)
  if (!known || known.expires_at <= context.clock.now()) return undefined
  if (known.body_digest !== body_digest) throw problem('idempotency_mismatch')
  if (await isHeld(tx, known.claim, context))
    throw problem('idempotency_in_progress', { headers: { 'retry-after': '1' } })
  if (known.sealed === null) return undefined
  const stored = await context.keys.open(known.sealed, id)
  if (stored === undefined) throw problem('idempotency_unreadable')
  return readAnswer(stored)
}

interface PutAnswer {
  readonly outcome: AnswerToStore | null
  readonly claim: string | null
  readonly at: number
}

/** The answer of a call, and what to store if the limit of its caller does not allow to keep it. */
export interface AnswerToStore {
  readonly answer: RenderedAnswer
  /** Whether so many bytes may be stored. Counts them. */
  fits(tx: Writer, bytes: number): Promise<boolean>
  readonly notKept: () => RenderedAnswer
}

async function putAnswer(
  tx: Writer,
  { id, body_digest }: AnswerPlace,
  { outcome, claim, at }: PutAnswer,
  { keys }: Pick<Context, 'keys'>,
): Promise<void> {
  const seal = (answer: RenderedAnswer) => keys.seal(writeAnswer(answer), id)
  let sealed = outcome && (await seal(outcome.answer))
  if (outcome && sealed !== null && !(await outcome.fits(tx, sealed.length))) sealed = await seal(outcome.notKept())
  const expires_at = at + KEY_MS
  tx.put(idempotency, { id, body_digest, expires_at, sealed, claim })
}

/** A call of several transactions and its key. */
export interface Claim extends AnswerPlace {
  readonly claim: string
}

/** Claims a key for a call of several transactions. */
export const claimKey = (tx: Writer, claim: Claim, context: Context): Promise<void> =>
  putAnswer(tx, claim, { outcome: null, claim: claim.claim, at: context.clock.now() }, context)

/** Stores the answer of a call of one transaction, in that transaction. */
export const storeAtOnce = (tx: Writer, place: AnswerPlace, outcome: AnswerToStore, context: Context): Promise<void> =>
  putAnswer(tx, place, { outcome, claim: null, at: context.clock.now() }, context)

/** Stores an answer under a claimed key. A provisional one waits for a final one. Throws `idempotency_in_progress`. */
export async function storeUnderClaim(
  tx: Writer,
  claim: Claim,
  { answer, provisional }: { answer: AnswerToStore; provisional: boolean },
  context: Context,
): Promise<void> {
  if (!(await holdsKey(tx, claim))) throw problem('idempotency_in_progress')
  const at = context.clock.now()
  await putAnswer(tx, claim, { outcome: answer, claim: provisional ? claim.claim : null, at }, context)
}

/** Whether a call still has its key: no other call has taken it over, and no final answer is stored. */
export const holdsKey = async (tx: Reader, { id, claim }: Claim): Promise<boolean> =>
  (await tx.get(idempotency, id))?.claim === claim

/** Ends a call that failed. Its provisional answer becomes final. If it stored none, the key is free again. */
export async function releaseKey(tx: Writer, { id }: Claim): Promise<void> {
  const known = await tx.get(idempotency, id)
  if (!known || known.sealed === null) tx.remove(idempotency, id)
  else tx.put(idempotency, { ...known, claim: null })
}

/** Serializes an answer. Binary bodies, from upstream services, become base64url. */
function writeAnswer({ body, status, headers }: RenderedAnswer): string {
  const head = {
    status,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !unstoredHeaders.has(name))),
  }
  return JSON.stringify(body instanceof Uint8Array ? { ...head, bytes: base64url(body) } : { ...head, body })
}

/** Headers that are valid only for the first request, so they are not stored. */
const unstoredHeaders: ReadonlySet<string> = new Set(['retry-after', 'set-cookie', 'x-session-id'])

function readAnswer(stored: string): RenderedAnswer {
  // It was encrypted, so it is what `writeOutcome` wrote.
  const { bytes, ...outcome } = JSON.parse(stored) as RenderedAnswer & { bytes?: string }
  return bytes === undefined ? outcome : { ...outcome, body: bytesOf(bytes) }
}

const replayed = (outcome: RenderedAnswer): RenderedAnswer => ({
  ...outcome,
  headers: { ...outcome.headers, 'idempotent-replayed': 'true' },
})

/**
 * The owner of an Idempotency-Key. Nobody else gets the stored answer. Sessions and tokens of one user share their
 * keys. Undefined if the key is ignored: without credentials only the key identifies the caller, so it must be hard to
 * guess.
 */
export function callerKey(call: Call, route: Route, key: string): string | undefined {
  // Payments have names of their own.
  if (call.principal.kind === 'none' && route.sell) return undefined
  const presented = route.presented?.(call)
  if (presented !== undefined) return JSON.stringify(['presented', ...presented])
  const { principal, session } = call
  return ownerOf(principal, call) ?? session?.id ?? (key.length < HARD_TO_GUESS ? undefined : 'nobody')
}

/** Apps, pages and embeds act for a user or account, but have keys of their own, so none sees the answers of others. */
function ownerOf(principal: Principal, { body }: Call): string | undefined {
  switch (principal.kind) {
    case 'account':
    case 'user':
      return principal.owner
    case 'agent':
      return `${principal.owner} by ${principal.client_id}`
    case 'page':
      return JSON.stringify(['page', principal.user_id, principal.account_id, principal.origin])
    case 'embed':
      // The public secret is public, so the delegate identifies the caller.
      return JSON.stringify(['embed', principal.account_id, delegateOf(body)])
    case 'guest':
      return principal.user_id === null ? undefined : `user:${principal.user_id}`
    case 'client':
      return JSON.stringify(['client', principal.client_id, principal.client_secret])
    case 'refresh':
      return JSON.stringify(['refresh', principal.refresh_token])
    case 'none':
      return undefined
  }
}

const delegateOf = (body: unknown): unknown => (isObject(body) ? body.persona_delegate : undefined) ?? null

/** How many printable characters hold 128 bits. */
export const HARD_TO_GUESS = 20

/**
 * What only the caller of a request with an Idempotency-Key knows, if they send no credentials: its path, its body and the
 * key, which must be hard to guess. The secret of a link in the path is none: its maker knows it too. Undefined if the key is
 * short.
 */
export function retrySecretOf(
  { idempotent }: Pick<Route, 'idempotent'>,
  { method, path, headers }: Pick<Incoming, 'method' | 'path' | 'headers'>,
  body: unknown,
): string | undefined {
  const key = idempotent ? headers.get('idempotency-key') : null
  if (key === null || key.length < HARD_TO_GUESS) return undefined
  return canonicalJson([method, withoutEnd(path, '/'), key, digest(canonicalJson(body))])
}

export const idempotencyFeature = { collections: [idempotency] }
