import { networkOf } from '../../base/ip-address.js'
import { type Problem, problem } from '../../base/problem.js'

/** Counts the requests of a service that wait for their first transaction, in the service and in the server that reads them. */
export class WaitingRequests {
  #count = 0

  /** `most`: how many may wait. */
  constructor(readonly most: number) {}

  /** How many wait now. */
  get count(): number {
    return this.#count
  }

  get hasRoom(): boolean {
    return this.#count < this.most
  }

  /** Counts one more. Returns false, and counts nothing, if as many wait as may. */
  enter(): boolean {
    if (this.#count >= this.most) return false
    this.#count++
    return true
  }

  /** Counts one less. Call it once for each `enter` that returned true. */
  leave(): void {
    this.#count--
  }
}

/** The refusal of a request beyond those that may wait. */
export const tooManyWait = ({ count, most }: WaitingRequests): Problem =>
  problem('overloaded', {
    // The queue is far shorter than this. It need not grow or vary with the number of callers: a server answers those beyond
    // the queue a few at a time, so they come back a few at a time.
    headers: { 'retry-after': '1' },
    fields: { waiting: count, queue: most },
  })

/** So many whole bodies one network may have, whatever others hold. */
const WHOLE_BODIES = 8

/**
 * The bytes of bodies that a service has in memory: those that arrive, and those of requests that are not answered yet.
 * A network may hold as many as it leaves to others, and in any case some whole bodies. When there is no room for more,
 * whoever holds most makes it: the body that began first of theirs is cut. So nobody is refused because of a network that
 * holds more than they do.
 */
export class HeldBodies {
  readonly most: number
  readonly #always: number
  readonly #holders = new Map<string, Holder>()
  /** Holders with a body that still arrives, by the binary logarithm of their bytes. */
  readonly #cuttable: Set<Holder>[] = []
  #bytes = 0

  /** In bytes. One whole body always has room. */
  constructor(limits: { readonly bodiesBytes: number; readonly bodyBytes: number }) {
    this.most = Math.max(limits.bodiesBytes, limits.bodyBytes)
    this.#always = Math.max(Math.min(this.most / 2, WHOLE_BODIES * limits.bodyBytes), limits.bodyBytes)
  }

  /** How many bytes are held now. */
  get bytes(): number {
    return this.#bytes
  }

  /** Begins a body. `address`: who sends it. Undefined for a body that came over no network, which has no address. */
  begin(address: string | undefined): HeldBody {
    return new HeldBody(this, address === undefined ? undefined : networkOf(address))
  }

  /** Makes room for more of a body, and counts it. Throws `overloaded`. */
  take(body: HeldBody, bytes: number): void {
    const { network = '' } = body
    for (;;) {
      const own = this.#holders.get(network)
      const held = (own?.bytes ?? 0) + bytes
      const isFull = this.#bytes + bytes > this.most
      const isOver = body.network !== undefined && held > Math.max(this.#always, this.most - this.#bytes - bytes)
      if (!isFull && !isOver) break
      const victim = (isOver ? own : this.#largest(own))?.oldest()
      if (!victim || victim === body) throw this.#overloaded()
      victim.cut(this.#overloaded())
    }
    let holder = this.#holders.get(network)
    if (!holder) this.#holders.set(network, (holder = new Holder()))
    holder.bodies.add(body)
    if (!body.hasArrived) holder.arriving.add(body)
    body.bytes += bytes
    this.#count(holder, bytes)
  }

  /** A body is whole. It is cut no more. */
  arrived(body: HeldBody): void {
    const holder = this.#holders.get(body.network ?? '')
    if (holder?.arriving.delete(body)) this.#count(holder, 0)
  }

  /** Counts a body no more. */
  release(body: HeldBody): void {
    const { network = '', bytes } = body
    const holder = this.#holders.get(network)
    if (!holder?.bodies.delete(body)) return
    holder.arriving.delete(body)
    body.bytes = 0
    this.#count(holder, -bytes)
    if (holder.bodies.size === 0) this.#holders.delete(network)
  }

  #count(holder: Holder, bytes: number): void {
    holder.bytes += bytes
    this.#bytes += bytes
    const size = holder.arriving.size === 0 ? -1 : Math.floor(Math.log2(holder.bytes + 1))
    if (size === holder.size) return
    this.#cuttable[holder.size]?.delete(holder)
    holder.size = size
    if (size < 0) return
    while (this.#cuttable.length <= size) this.#cuttable.push(new Set())
    this.#cuttable[size]?.add(holder)
  }

  /** One of those who hold most and have a body that still arrives: none of the others has twice as much. */
  #largest(own: Holder | undefined): Holder | undefined {
    for (let size = this.#cuttable.length - 1; size >= 0; size--)
      for (const holder of this.#cuttable[size] ?? []) return own && own.bytes > holder.bytes ? own : holder
    return own
  }

  #overloaded = (): Problem =>
    problem('overloaded', {
      detail: `The bodies of all requests may take ${this.most} bytes.`,
      headers: { 'retry-after': '1' },
      fields: { body_bytes: this.most },
    })
}

class Holder {
  bytes = 0
  /** The binary logarithm of its bytes while one of its bodies arrives, else -1. */
  size = -1
  readonly bodies = new Set<HeldBody>()
  /** Those that are not whole yet, in the order in which they began. */
  readonly arriving = new Set<HeldBody>()

  oldest(): HeldBody | undefined {
    for (const body of this.arriving) return body
    return undefined
  }
}

/** The body of one request, as far as it is in memory. */
export class HeldBody {
  declare bytes: number
  declare hasArrived: boolean
  /** Undefined if it came over none. */
  declare readonly network: string | undefined
  declare private readonly all: HeldBodies
  declare private onCut: ((refusal: Problem) => void) | undefined
  declare private refusal: Problem | undefined

  constructor(all: HeldBodies, network: string | undefined) {
    this.bytes = 0
    this.hasArrived = false
    this.network = network
    this.all = all
    this.onCut = undefined
    this.refusal = undefined
  }

  /** Counts more bytes of it. Throws `overloaded`. */
  take(bytes: number): void {
    this.all.take(this, bytes)
  }

  /** Resolves with what `reading` does. The part that it waits for rejects when the body is cut. */
  async whole<T>(reading: (untilCut: <P>(part: Promise<P>) => Promise<P>) => Promise<T>): Promise<T> {
    const read = await reading(
      (part) =>
        new Promise((resolve, reject) => {
          if (this.refusal) throw this.refusal
          this.onCut = reject
          part.then(resolve, reject)
        }),
    )
    this.hasArrived = true
    this.all.arrived(this)
    return read
  }

  /** Ends it while it arrives. Its memory is free at once. */
  cut(refusal: Problem): void {
    this.release()
    this.refusal = refusal
    this.onCut?.(refusal)
  }

  /** Its request was answered. It may be called twice. */
  release(): void {
    this.all.release(this)
  }
}
