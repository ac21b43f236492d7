import { type Problem, problem } from '../../base/problem.js'

/** One address may hold this part of all bodies, so that it cannot hold them all. */
const PART = 4

/**
 * The bytes of bodies that a service has in memory: those that arrive, and those of requests that are not answered yet.
 * When there is no room for more, whoever holds most makes it: the body that began first of theirs is cut. So nobody is
 * refused because of an address that holds more than they do.
 */
export class HeldBodies {
  readonly most: number
  readonly #mostOfAddress: number
  readonly #holders = new Map<string, Holder>()
  #bytes = 0

  /** In bytes. One whole body always has room. */
  constructor(limits: { readonly bodiesBytes: number; readonly bodyBytes: number }) {
    this.most = Math.max(limits.bodiesBytes, limits.bodyBytes)
    this.#mostOfAddress = Math.max(this.most / PART, limits.bodyBytes)
  }

  /** How many bytes are held now. */
  get bytes(): number {
    return this.#bytes
  }

  /** Begins a body. `address`: who sends it. Undefined for a body that came over no network, which has no address. */
  begin(address: string | undefined): HeldBody {
    return new HeldBody(this, address)
  }

  /** Makes room for more of a body, and counts it. Throws `overloaded`. */
  take(body: HeldBody, bytes: number): void {
    const { address = '' } = body
    while (!this.#hasRoom(body, bytes)) {
      const own = this.#holders.get(address)
      const isOverShare = body.address !== undefined && (own?.bytes ?? 0) + bytes > this.#mostOfAddress
      const victim = (isOverShare ? own : this.#largest(own))?.oldest()
      if (!victim || victim === body) throw this.#overloaded()
      victim.cut(this.#overloaded())
    }
    let holder = this.#holders.get(address)
    if (!holder) this.#holders.set(address, (holder = new Holder()))
    holder.bodies.add(body)
    holder.bytes += bytes
    body.bytes += bytes
    this.#bytes += bytes
  }

  /** Counts a body no more. */
  release(body: HeldBody): void {
    const { address = '', bytes } = body
    const holder = this.#holders.get(address)
    if (!holder?.bodies.delete(body)) return
    holder.bytes -= bytes
    body.bytes = 0
    this.#bytes -= bytes
    if (holder.bodies.size === 0) this.#holders.delete(address)
  }

  #hasRoom({ address }: HeldBody, bytes: number): boolean {
    if (this.#bytes + bytes > this.most) return false
    return address === undefined || (this.#holders.get(address)?.bytes ?? 0) + bytes <= this.#mostOfAddress
  }

  /** Who holds most of those with a body that still arrives. */
  #largest(own: Holder | undefined): Holder | undefined {
    let largest = own?.oldest() ? own : undefined
    for (const holder of this.#holders.values())
      if (holder.bytes > (largest?.bytes ?? own?.bytes ?? 0) && holder.oldest()) largest = holder
    return largest
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
  /** In the order in which they began. */
  readonly bodies = new Set<HeldBody>()

  /** Undefined if all of its bodies have arrived. */
  oldest(): HeldBody | undefined {
    for (const body of this.bodies) if (!body.hasArrived) return body
    return undefined
  }
}

/** The body of one request, as far as it is in memory. */
export class HeldBody {
  bytes = 0
  hasArrived = false
  readonly #all: HeldBodies
  #onCut: ((refusal: Problem) => void) | undefined

  constructor(
    all: HeldBodies,
    readonly address: string | undefined,
  ) {
    this.#all = all
  }

  /** Counts more bytes of it. Throws `overloaded`. */
  take(bytes: number): void {
    this.#all.take(this, bytes)
  }

  /** Resolves with what `reading` does, or rejects when the body is cut. It is whole when that resolves. */
  async whole<T>(reading: (untilCut: <P>(part: Promise<P>) => Promise<P>) => Promise<T>): Promise<T> {
    const cut = new Promise<never>((_, reject) => {
      this.#onCut = reject
    })
    cut.catch(() => {})
    const read = await reading((part) => Promise.race([part, cut]))
    this.hasArrived = true
    return read
  }

  /** Ends it while it arrives. Its memory is free at once. */
  cut(refusal: Problem): void {
    this.release()
    this.#onCut?.(refusal)
  }

  /** Its request was answered. It may be called twice. */
  release(): void {
    this.#all.release(this)
  }
}
