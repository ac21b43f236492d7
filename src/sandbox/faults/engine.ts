import { load } from '../../base/parts.js'
import { keepAlive } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import { AnswerDropped } from '../../http/around.js'
import type { ServiceContext } from '../../http/context.js'
import { describeFault } from '../../http/fields/field.js'
import { catalogItems } from '../../market/catalog/item-row.js'
import { commodities } from '../../money/commodities/commodity.js'
import type { AroundWrites } from '../../storage/service-storage.js'
import { OutcomeUnknown, StorageUnavailable } from '../../storage/storage.js'
import { diskReasons } from '../../storage/unavailable.js'
import type {
  ArmedFault,
  Fault,
  FaultEngine,
  FaultyAnswer,
  FaultyCall,
  FaultyRequest,
  NoteFault,
} from '../onion/fault.js'
import { ArmedFaults, SharedCounts, type Subject } from './armed-faults.js'
import { FaultShape } from './fault-shape.js'

export { SharedCounts }

export class ArmedEngine extends ArmedFaults implements FaultEngine {
  readonly #storageFailures = new WeakSet<StorageUnavailable>()

  constructor(
    options: ConstructorParameters<typeof ArmedFaults>[0],
    readonly alarm: ServiceContext['alarm'],
  ) {
    super(options)
  }

  async perform(request: FaultyRequest): Promise<FaultyAnswer> {
    const own = request.header === null ? undefined : readFaultHeader(request.header)
    const { operationId: operation_id, method, path } = request
    const asked: Subject = { operation_id, method, path }
    const principal = this.needsPrincipal(asked) ? await request.principal() : null
    const subject = { ...asked, principal }
    const take = async (at: ArmedFault['at'], isPossible?: (fault: Pick<ArmedFault, 'do'>) => boolean) =>
      own?.at === at && (isPossible?.(own) ?? true)
        ? { ...own, id: HEADER_FAULT, fired: 1 }
        : this.take(at, subject, isPossible)

    const before = await take(
      'before',
      ({ do: { raise_price } }) => raise_price === undefined || request.paysFor !== undefined,
    )
    if (before) {
      request.note(before.id, { isLost: false })
      if (before.do.status !== undefined) return answerOf(before, before.do.status)
      if (before.do.raise_price === undefined) await this.#happen(before)
      else await raisePrice(before.do.raise_price, request)
    }
    const x402 = own?.do.x402 || this.some(({ do: { x402 } }) => x402 !== undefined) ? await x402Answers() : undefined
    const earlier = await x402?.earlierReceipt(request)
    let answer = await request.run().catch(async (error: unknown) => {
      const worse = x402?.withExpensiveOffer(error)
      const fault = worse && (await take('after_commit', ({ do: { x402: mode } }) => mode === 'expensive_offer'))
      if (fault) request.note(fault.id, { isLost: false })
      throw fault ? worse : error
    })
    const after = await take(
      'after_commit',
      ({ do: { x402: mode } }) => !mode || !!x402?.changesReceipt(mode, answer, earlier),
    )
    if (after?.do.x402 && x402) {
      request.note(after.id, { isLost: false })
      answer = await x402.hostileAnswer(after.do.x402, answer, { earlier, request })
    } else if (after) answer = await this.#afterCommit(after, answer, request)
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
    const change = () => {
      if (drip !== undefined) return dripping(drip, (ms) => this.#wait(ms))
      if (delay_ms !== undefined) return paused(half, () => this.#wait(delay_ms))
      return truncated(truncate ?? half, id)
    }
    return changedBody(answer, change())
  }

  async call<T>({ port, method, path, note, run, answer }: FaultyCall<T>): Promise<T> {
    const subject = { port, method, path }
    const before = noted(await this.take('before', subject), note)
    if (before?.do.status !== undefined && answer) return answer(answerOf(before, before.do.status))
    if (before && before.do.delay_ms === undefined) throw callFailure(before)
    // Chosen now, so that the same run has the same faults, however fast the port answers. What processes count together
    // is chosen later, because it cannot be put back.
    const chosen = this.takeAtOnce('after_commit', subject)
    if (before) await this.#happen(before)
    const result = await run().catch((error: unknown) => {
      if (chosen?.fault) this.putBack(chosen.fault)
      throw error
    })
    const after = chosen ? chosen.fault : await this.take('after_commit', subject)
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
    const slow = noted(await this.take('before', STORAGE, isDelay), note)
    if (slow) await this.#happen(slow)
    let hasChanged = false
    // A body may run twice, and the fault happens once.
    let decided: { readonly fault: ArmedFault | undefined } | undefined
    const attempt = () =>
      write(async (tx) => {
        const result = await body(tx)
        hasChanged = !tx.isEmpty
        if (!hasChanged) return result
        decided ??= this.takeAtOnce('before', STORAGE, isError)
        if (!decided) throw new Undecided()
        if (!decided.fault) return result
        throw this.#storageFailure(decided.fault, StorageUnavailable, note)
      })
    const value = await attempt().catch(async (error: unknown) => {
      if (!(error instanceof Undecided)) throw error
      const fault = await this.take('before', STORAGE, isError)
      if (fault) throw this.#storageFailure(fault, StorageUnavailable, note)
      decided = { fault }
      return attempt()
    })
    const after = hasChanged ? noted(await this.take('after_commit', STORAGE), note) : undefined
    if (after?.do.error !== undefined) throw this.#storageFailure(after, OutcomeUnknown)
    if (after) await this.#happen(after)
    return value
  }

  isOwn(error: unknown): error is StorageUnavailable {
    return error instanceof StorageUnavailable && this.#storageFailures.has(error)
  }

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

  #wait = (ms: number) => keepAlive(new Promise<void>((resolve) => this.alarm.set(ms, resolve)))
}

/** Reads signatures, which most sandboxes never do. */
const x402Answers = () => load(() => import('./x402-answers.js'))

const STORAGE: Subject = { port: 'storage' }

/** Ends a transaction whose fault processes count together, in a transaction of its own. */
class Undecided extends Error {}

const callFailure = ({ id, do: { error = 'ECONNRESET' } }: ArmedFault): Error =>
  Object.assign(new Error(`${error}, by the fault "${id}"`), { code: error })

function noted(fault: ArmedFault | undefined, note: NoteFault | undefined): ArmedFault | undefined {
  if (fault) note?.(fault.id)
  return fault
}

const isDelay = (fault: Pick<ArmedFault, 'do'>): boolean => fault.do.delay_ms !== undefined
const isError = (fault: Pick<ArmedFault, 'do'>): boolean => fault.do.error !== undefined

/** Whether a fault would change the body of this answer: one that is shorter arrives whole. */
const cuts = ({ do: { truncate } }: Pick<ArmedFault, 'do'>, { body }: FaultyAnswer): boolean =>
  truncate === undefined || truncate < (lengthOf(body) ?? Number.POSITIVE_INFINITY)

/** The answer of a fault, as a proxy in between would give it. */
function answerOf({ id, do: { body, retry_after } }: ArmedFault, status: number): FaultyAnswer {
  const wait = retry_after !== undefined && { 'retry-after': String(retry_after) }
  const headers = { 'cache-control': 'private, no-store', ...wait }
  if (status === 204 || status === 205 || status === 304) return { status, headers, body: null }
  if (typeof body === 'string')
    return { status, headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' }, body }
  const shown = body === undefined ? { error: `The fault "${id}" of this sandbox answered.`, status, fault: id } : body
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(shown) }
}

type Body = FaultyAnswer['body']
type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer> | Uint8Array>

const PIECES_A_SECOND = 10

/** An answer whose body arrives in another way. It still declares its whole length. */
function changedBody(answer: FaultyAnswer, change: (chunks: Chunks) => Chunks): FaultyAnswer {
  const { headers, body } = answer
  const length = lengthOf(body)
  return {
    ...answer,
    headers: { ...headers, ...(length !== undefined && { 'content-length': String(length) }) },
    body: streamOf(change(chunksOf(body))),
  }
}

/** The length of a body in bytes. Undefined for a stream. */
const lengthOf = (body: Body): number | undefined => (body instanceof ReadableStream ? undefined : wholeOf(body).length)

const truncated = (bytes: number, faultId: string) =>
  async function* (chunks: Chunks): Chunks {
    let left = bytes
    for await (const chunk of chunks) {
      const part = chunk.subarray(0, left)
      left -= part.length
      if (part.length > 0) yield part
      if (part.length < chunk.length) throw new AnswerDropped(faultId)
    }
  }

const dripping = (bytesPerSecond: number, wait: (ms: number) => Promise<void>) =>
  async function* (chunks: Chunks): Chunks {
    const size = Math.max(1, Math.floor(bytesPerSecond / PIECES_A_SECOND))
    for await (const chunk of chunks)
      for (let at = 0; at < chunk.length; at += size) {
        const piece = chunk.subarray(at, at + size)
        await wait((piece.length * 1000) / bytesPerSecond)
        yield piece
      }
  }

const paused = (bytes: number, pause: () => Promise<void>) =>
  async function* (chunks: Chunks): Chunks {
    let left = bytes
    for await (const chunk of chunks) {
      const isHere = left >= 0 && chunk.length > left
      if (isHere && left > 0) yield chunk.subarray(0, left)
      if (isHere) await pause()
      yield isHere ? chunk.subarray(left) : chunk
      left = isHere ? -1 : left - chunk.length
    }
  }

/** Ends what a body comes from, because nobody reads it. */
function discardBody(body: Body): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => {})
}

const wholeOf = (body: Exclude<Body, ReadableStream>): Uint8Array<ArrayBuffer> =>
  typeof body === 'string' ? new TextEncoder().encode(body) : (body ?? new Uint8Array())

async function* chunksOf(body: Body): Chunks {
  if (!(body instanceof ReadableStream)) {
    yield wholeOf(body)
    return
  }
  const reader = body.getReader()
  let isRead = false
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
    isRead = true
  } finally {
    if (!isRead) reader.cancel().catch(() => {})
  }
}

/** Reads only on demand: an error discards what a stream holds that nobody has read. */
const streamOf = (chunks: Chunks): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        await chunks.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )

const HEADER_FAULT = 'header'

/** Reads `X-Sandbox-Fault`, such as `after_commit; drop` or `mid_body; truncate=10`. Throws `header_malformed`. */
function readFaultHeader(text: string): Fault {
  const [, at = '', name = '', value] = /^\s*(\w+)\s*;\s*(\w+)\s*(?:=\s*(\w{1,40})\s*)?$/.exec(text) ?? []
  const fault = {
    match: {},
    at,
    do: { [name]: value !== undefined && /^\d+$/.test(value) ? Number(value) : (value ?? true) },
  }
  const wrong = name === '' ? GRAMMAR : describeFault(FaultShape, fault)
  if (wrong === undefined) return FaultShape.parse(fault)
  const detail = `The invalid header is X-Sandbox-Fault: ${wrong.replace(/\.$/, '')}.`
  throw problem('header_malformed', { detail, facts: { header: 'X-Sandbox-Fault' } })
}

const GRAMMAR = 'it is a point and an action, such as "after_commit; drop" or "before; status=503"'

/** Raises a price for good, by at least its smallest unit. What is unknown is left to the request. */
async function raisePrice(
  percent: number,
  { paysFor, service }: Pick<FaultyRequest, 'paysFor' | 'service'>,
): Promise<void> {
  if (paysFor === undefined) return
  await service?.storage.write(async (tx) => {
    const hash = typeof paysFor === 'string' ? paysFor : (await tx.get(catalogItems, paysFor))?.hash
    const row = hash === undefined ? undefined : await tx.get(commodities, hash)
    if (!row) return
    const more = (BigInt(row.cost) * BigInt(percent)) / 100n
    tx.put(commodities, { ...row, cost: String(BigInt(row.cost) + (more > 0n ? more : 1n)) })
  })
}
