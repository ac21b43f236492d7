import { Problem, problem } from '../../base/problem.js'
import { newClaim } from '../../storage/claim.js'
import type { StorageObserver } from '../../storage/service-storage.js'
import { OutcomeUnknown, type Reader, StorageUnavailable } from '../../storage/storage.js'
import type { Caller } from '../caller.js'
import { trackChanges } from '../change-tracking.js'
import type { Maker, ServiceContext, StoreAnswer } from '../context.js'
import type { Endpoint, Incoming } from '../incoming.js'
import { isProbe } from '../probes/paths.js'
import { type RenderedAnswer, render, renderProblem, unknownOutcome } from '../rendered-answer.js'
import type { Call, Principal, Route } from '../route.js'
import {
  type AnswerToStore,
  type Claim,
  claimKey,
  findStoredAnswer,
  holdsKey,
  type KeyedRequest,
  releaseKey,
  storeAtOnce,
  storeUnderClaim,
} from './idempotency.js'

/** A request that is ready for its handler. */
export interface KeyedRun {
  readonly endpoint: Endpoint
  readonly incoming: Incoming
  readonly service: ServiceContext
  /** The service whose every call is recorded. */
  readonly recorded: ServiceContext
  /** Records a transaction of `service`. Undefined: only those of `recorded` are recorded. */
  readonly observer: StorageObserver | undefined
  /** The service for a handler that opens its own transactions. */
  serviceFor(call: Call): ServiceContext
  authenticate(tx: Reader): Promise<Caller>
  /** Checks the fields, and notes who calls. */
  callOf(caller: Caller): Call
  /** Both. */
  prepare(tx: Reader): Promise<Call>
  /** Its Idempotency-Key. */
  readonly key: string | null
  /** The request under its key. Undefined if it has no key or the key is ignored. */
  keyed(call: Call): KeyedRequest | undefined
}

/** Runs a `write` handler once for each key. Stores its answer if and only if the transaction changed something. */
export async function writeOnce(run: KeyedRun): Promise<RenderedAnswer> {
  const { endpoint, incoming, service, observer } = run
  const { route } = endpoint
  const { storage } = observer ? service : run.recorded
  let belongs = false
  const answer = await storage.write(async (tx) => {
    const call = run.callOf(await run.authenticate(tx))
    const request = run.keyed(call)
    const found = request && (await findStoredAnswer(tx, request, service))
    belongs = found !== undefined && 'status' in found
    if (found && 'status' in found) return found
    if (route.adds) await service.rules.countNew(tx, route.adds, makerOf(call.principal, incoming), service)
    const handled = await route.write?.(tx, call, service)
    const outcome = answerTo(handled, run)
    belongs = found !== undefined && tx.hasChanged
    if (found && belongs) await storeAtOnce(tx, found, toStore(outcome, call, run), service)
    return outcome
  }, observer)
  if (belongs) incoming.isWithheld = false
  return answer
}

/** Runs a `handle` handler once for each key. Its answer is stored if it changed something, by the handler itself or at its end. */
export async function handleOnce(run: KeyedRun, handler: NonNullable<Route['handle']>): Promise<RenderedAnswer> {
  const { endpoint, incoming, recorded: service } = run
  const begun = await beginCall(run)
  if ('status' in begun) {
    incoming.isWithheld = false
    return begun
  }
  const { call, claim } = begun
  const watched = trackChanges(run.serviceFor(call))
  let isStored = false
  let provisionalAnswer: unknown
  const storeAnswer: StoreAnswer<unknown> = async (tx, answer, { provisional = false } = {}) => {
    if (provisional) provisionalAnswer = answer
    const rendered = claim && answerTo(answer, run)
    if (claim && rendered)
      await storeUnderClaim(tx, claim, { answer: toStore(rendered, call, run), provisional }, service)
    isStored ||= !provisional
    return answer
  }
  try {
    const act = (call.principal.kind === 'none' && endpoint.route.sell) || handler
    const outcome = render(endpoint, await act({ ...call, storeAnswer }, watched.service), incoming)
    if (watched.hasChanged) incoming.isWithheld = false
    if (claim && isStored) service.ongoing.delete(claim.claim)
    else if (claim) await endCall(claim, watched.hasChanged ? toStore(outcome, call, run) : undefined, service)
    return outcome
  } catch (error) {
    const isRefusal = error instanceof Problem
    if (watched.hasChanged) incoming.isWithheld = false
    if (claim)
      await endCall(
        claim,
        watched.hasChanged && isRefusal ? toStore(renderProblem(error, incoming, service), call, run) : undefined,
        service,
      )
    if (isRefusal || !watched.hasChanged) throw error
    service.log.error('a request failed after it had changed something', error)
    throw unknownOutcome(incoming, error, provisionalAnswer)
  }
}

interface BegunCall {
  readonly call: Call
  readonly claim: Claim | undefined
}

/** Authenticates, and claims the key for this call. Returns the stored answer if there is one. */
async function beginCall(run: KeyedRun): Promise<BegunCall | RenderedAnswer> {
  const { endpoint, recorded: service, key } = run
  const { storage, ongoing } = service
  const prepare = (tx: Reader) => run.prepare(tx)
  const { scope, isOpen } = endpoint.route
  if (scope === 'meta' || isOpen || isProbe(endpoint.path)) return { call: await prepare(noStorage), claim: undefined }
  if (key === null) return { call: await storage.read(prepare), claim: undefined }
  const claim = newClaim(service)
  ongoing.set(claim, undefined)
  let begun: BegunCall | RenderedAnswer | undefined
  try {
    begun = await storage.write(async (tx) => {
      const call = await prepare(tx)
      const request = run.keyed(call)
      const found = request && (await findStoredAnswer(tx, request, service))
      if (found && 'status' in found) return found
      const claimed = found && { ...found, claim }
      if (claimed) await claimKey(tx, claimed, service)
      return { call, claim: claimed }
    })
    return begun
  } catch (error) {
    // Only the claim of the key is unknown, and its call has ended here. Nothing else has changed.
    if (!(error instanceof OutcomeUnknown)) throw error
    throw new StorageUnavailable(error.message, { cause: error, reason: error.reason })
  } finally {
    if (!begun || !('claim' in begun) || !begun.claim) ongoing.delete(claim)
  }
}

const absent = () => Promise.reject(new Error('what is about the service itself reads no storage'))

/** What is about the service itself answers also while the storage does not. */
const noStorage: Reader = { get: absent, getMany: absent, find: absent }

/** How long a key stays taken after its call changed something and its answer could not be stored. */
const UNSTORED_MS = 5 * 60_000

/** Ends a call. Without a final answer, its provisional one becomes final, or the key is free again. */
async function endCall(claim: Claim, answer: AnswerToStore | undefined, service: ServiceContext): Promise<void> {
  const { storage, ongoing, alarm, log } = service
  const forget = () => void ongoing.delete(claim.claim)
  try {
    await storage.write(async (tx) => {
      if (!(await holdsKey(tx, claim))) return
      if (answer) await storeUnderClaim(tx, claim, { answer, provisional: false }, service)
      else await releaseKey(tx, claim)
    })
    forget()
  } catch (cause) {
    log.error('the answer of a call could not be stored', cause)
    if (answer) alarm.set(UNSTORED_MS, forget)
    else forget()
  }
}

/** A retry of a call whose answer is not kept learns that it happened, with what the headers say of it. */
const toStore = (
  answer: RenderedAnswer,
  { principal }: Pick<Call, 'principal'>,
  { incoming, service }: Pick<KeyedRun, 'incoming' | 'service'>,
): AnswerToStore => ({
  answer,
  fits: (tx, bytes) => service.rules.countStored(tx, bytes, makerOf(principal, incoming), service),
  notKept() {
    const refused = renderProblem(problem('idempotency_unreadable', { detail: NOT_KEPT }), incoming, service)
    return { ...refused, headers: { ...answer.headers, ...refused.headers } }
  },
})

const NOT_KEPT =
  'The call ended with an answer that was sent once. It was not kept, because its caller had reached `limits.storedBytesPerDay`.'

const answerTo = (
  handled: unknown,
  { endpoint, incoming, service }: Pick<KeyedRun, 'endpoint' | 'incoming' | 'service'>,
) => (handled instanceof Problem ? renderProblem(handled, incoming, service) : render(endpoint, handled, incoming))

/** Whose limits count what a call creates. Pages with a publishable secret, and guests, count by their address. */
function makerOf(principal: Principal, { clientAddress }: Pick<Incoming, 'clientAddress'>): Maker {
  if ('owner' in principal) return { owner: principal.owner }
  if (principal.kind === 'guest' && principal.user_id !== null) return { owner: `user:${principal.user_id}` }
  return { address: clientAddress }
}
