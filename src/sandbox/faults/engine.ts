import { AnswerDropped } from '../../http/around.js'
import type { ServiceContext } from '../../http/context.js'
import type { AroundWrites } from '../../storage/service-storage.js'
import { OutcomeUnknown, StorageUnavailable } from '../../storage/storage.js'
import { diskReasons } from '../../storage/unavailable.js'
import type {
  ArmedFault,
  FaultEngine,
  FaultyAnswer,
  FaultyCall,
  FaultyRequest,
  NoteFault,
  PreparedFaults,
  SharedFault,
} from '../onion/fault.js'
import { ArmedFaults, type Subject } from './armed-faults.js'
import { SharedCounts } from './fault-counts.js'
import { HEADER_FAULT, readFaultHeader } from './fault-header.js'
import { changedBody, discardBody, dripping, lengthOf, paused, truncated } from './faulty-body.js'

export { ArmedFaults, SharedCounts }

/** Makes armed faults happen to requests, calls of ports and writes. */
export class ArmedEngine implements FaultEngine {
  readonly #storageFailures = new WeakSet<StorageUnavailable>()

  constructor(
    readonly faults: ArmedFaults,
    readonly context: Pick<ServiceContext, 'alarm'>,
  ) {}

  async perform(request: FaultyRequest): Promise<FaultyAnswer> {
    const own = request.header === null ? undefined : readFaultHeader(request.header)
    const { operationId: operation_id, method, path } = request
    const asked: Subject = { operation_id, method, path }
    const principal = this.faults.needsPrincipal(asked) ? await request.principal() : null
    const subject = { ...asked, principal }
    const take = async (at: ArmedFault['at'], isPossible?: (fault: Pick<ArmedFault, 'do'>) => boolean) =>
      own?.at === at && (isPossible?.(own) ?? true)
        ? { ...own, id: HEADER_FAULT, fired: 1 }
        : this.faults.take(at, subject, isPossible)

    const before = await take('before')
    if (before) {
      request.note(before.id, { isLost: false })
      if (before.do.status !== undefined) return answerOf(before, before.do.status)
      await this.#happen(before)
    }
    let answer = await request.run()
    const after = await take('after_commit')
    if (after) answer = await this.#afterCommit(after, answer, request)
    if (!request.takesBody || lengthOf(answer.body) === 0) return answer
    const during = await take('mid_body', (fault) => cuts(fault, answer))
    if (!during) return answer
    request.note(during.id, { isLost: false })
    return this.#midBody(during, answer)
  }

  async #afterCommit(fault: ArmedFault, answer: FaultyAnswer, request: FaultyRequest): Promise<FaultyAnswer> {
    const { status, delay_ms } = fault.do
    request.note(fault.id, { isLost: delay_ms === undefined })
    if (delay_ms !== undefined) {
      await this.#wait(delay_ms)
      return answer
    }
    discardBody(answer.body)
    if (fault.do.duplicate) return request.run()
    if (status !== undefined) return answerOf(fault, status)
    throw new AnswerDropped(fault.id)
  }

  #midBody({ id, do: { truncate, drip, delay_ms } }: ArmedFault, answer: FaultyAnswer): FaultyAnswer {
    const half = Math.floor((lengthOf(answer.body) ?? 2) / 2)
    if (drip !== undefined)
      return changedBody(
        answer,
        dripping(drip, (ms) => this.#wait(ms)),
      )
    if (delay_ms !== undefined)
      return changedBody(
        answer,
        paused(half, () => this.#wait(delay_ms)),
      )
    return changedBody(answer, truncated(truncate ?? half, id))
  }

  async call<T>({ port, method, path, note, run, answer }: FaultyCall<T>): Promise<T> {
    const subject = { port, method, path }
    const before = noted(await this.faults.take('before', subject), note)
    if (before?.do.status !== undefined && answer) return answer(answerOf(before, before.do.status))
    if (before && before.do.delay_ms === undefined) throw callFailure(before)
    // Chosen now, so that the same run has the same faults, however fast the port answers. What processes count together
    // is chosen later, because it cannot be put back.
    const chosen = this.faults.takeAtOnce('after_commit', subject)
    if (before) await this.#happen(before)
    const result = await run().catch((error: unknown) => {
      if (chosen?.fault) this.faults.putBack(chosen.fault)
      throw error
    })
    const after = chosen ? chosen.fault : await this.faults.take('after_commit', subject)
    if (!after) return result
    note?.(after.id)
    const { duplicate, status, delay_ms } = after.do
    if (duplicate) return run()
    if (status !== undefined && answer) return answer(answerOf(after, status))
    if (delay_ms === undefined) throw callFailure(after)
    await this.#wait(delay_ms)
    return result
  }

  /**
   * A write that changes nothing never fails. `before`: nothing of the write is stored. `after_commit`: it is stored, and
   * nobody knows.
   */
  readonly write: AroundWrites = async (write, body, observer) => {
    const note: NoteFault = (faultId) => observer?.noteFault?.(faultId)
    const slow = noted(await this.faults.take('before', STORAGE, isDelay), note)
    if (slow) await this.#happen(slow)
    let hasChanged = false
    // A body may run twice, and the fault happens once.
    let decided: { readonly fault: ArmedFault | undefined } | undefined
    const attempt = () =>
      write(async (tx) => {
        const result = await body(tx)
        hasChanged = !tx.isEmpty
        if (!hasChanged) return result
        decided ??= this.faults.takeAtOnce('before', STORAGE, isError)
        if (!decided) throw new Undecided()
        if (!decided.fault) return result
        throw this.#storageFailure(decided.fault, StorageUnavailable, note)
      })
    const value = await attempt().catch(async (error: unknown) => {
      if (!(error instanceof Undecided)) throw error
      const fault = await this.faults.take('before', STORAGE, isError)
      if (fault) throw this.#storageFailure(fault, StorageUnavailable, note)
      decided = { fault }
      return attempt()
    })
    const after = hasChanged ? noted(await this.faults.take('after_commit', STORAGE), note) : undefined
    if (after?.do.error !== undefined) throw this.#storageFailure(after, OutcomeUnknown)
    if (after) await this.#happen(after)
    return value
  }

  isOwn(error: unknown): error is StorageUnavailable {
    return error instanceof StorageUnavailable && this.#storageFailures.has(error)
  }

  prepare(...given: Parameters<FaultEngine['prepare']>): Promise<PreparedFaults> {
    return this.faults.prepare(...given)
  }

  prepareAnew(...given: Parameters<FaultEngine['prepareAnew']>): Promise<() => void> {
    return this.faults.prepareAnew(...given)
  }

  list(): Promise<ArmedFault[]> {
    return this.faults.list()
  }

  shared(): SharedFault[] {
    return this.faults.shared()
  }

  follow(faults: readonly SharedFault[]): void {
    this.faults.follow(faults)
  }

  disarm(id: string): void {
    this.faults.disarm(id)
  }

  clear(): void {
    this.faults.clear()
  }

  /** Waits, or drops the answer. */
  async #happen({ id, do: { delay_ms } }: ArmedFault): Promise<void> {
    if (delay_ms === undefined) throw new AnswerDropped(id)
    await this.#wait(delay_ms)
  }

  #storageFailure(
    { id, do: { error = '' } }: ArmedFault,
    Failure: typeof StorageUnavailable | typeof OutcomeUnknown,
    note?: NoteFault,
  ): StorageUnavailable {
    note?.(id)
    const failure = new Failure(`The fault "${id}" stands for ${error} of the storage.`, { reason: diskReasons[error] })
    this.#storageFailures.add(failure)
    return failure
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.context.alarm.set(ms, resolve))
  }
}

const STORAGE: Subject = { port: 'storage' }

/** Ends a transaction whose fault processes count together, in a transaction of its own. */
class Undecided extends Error {}

/** How a call fails whose connection closes. */
const callFailure = ({ id, do: { error = 'ECONNRESET' } }: ArmedFault): Error =>
  Object.assign(new Error(`${error}, by the fault "${id}"`), { code: error })

function noted(fault: ArmedFault | undefined, note: NoteFault | undefined): ArmedFault | undefined {
  if (fault) note?.(fault.id)
  return fault
}

const isDelay = (fault: Pick<ArmedFault, 'do'>): boolean => fault.do.delay_ms !== undefined
const isError = (fault: Pick<ArmedFault, 'do'>): boolean => fault.do.error !== undefined

/** Whether a fault would change the body of this answer: one that is shorter arrives whole. */
function cuts({ do: { truncate } }: Pick<ArmedFault, 'do'>, { body }: FaultyAnswer): boolean {
  return truncate === undefined || truncate < (lengthOf(body) ?? Number.POSITIVE_INFINITY)
}

/** The answer of a fault, as a proxy in between would give it. */
function answerOf({ id, do: { body } }: ArmedFault, status: number): FaultyAnswer {
  const headers = { 'cache-control': 'private, no-store' }
  if (status === 204 || status === 205 || status === 304) return { status, headers, body: null }
  if (typeof body === 'string')
    return { status, headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' }, body }
  const shown = body === undefined ? { error: `The fault "${id}" of this sandbox answered.`, status, fault: id } : body
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(shown) }
}
