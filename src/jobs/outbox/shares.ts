import { LimitedMap } from '../../base/memo.js'
import type { OutboxRow } from '../../base/message.js'
import { parsedUrl } from '../../base/text/foreign-url.js'

/** Whose places a message takes, and at which host. */
export interface Sharer {
  readonly owner: string
  readonly host: string
}

/** Whose places a message takes: those of the owner who caused it, or of its address if it names none. */
export const sharerOf = ({ owner, to }: Pick<OutboxRow, 'owner' | 'to'>): Sharer => ({
  owner: owner ?? to,
  host: parsedUrl(to)?.host ?? to.slice(to.lastIndexOf('@') + 1),
})

export const nameOf = ({ owner, host }: Sharer): string => `${owner} ${host}`

/**
 * The places of one lane, of which each owner takes a share. One message of an owner may begin while any place is free.
 * For its others only half of the places counts, and the owner may take one more while it has fewer than are free of
 * those. So others begin at once, however many one owner would take. A host of an owner leaves as many to the owner's
 * other hosts, and a host as many to other hosts. For those who were slow, it is half for the first message, and a
 * quarter for others.
 */
export class Shares {
  readonly #most: number
  readonly #isSlow: (sharer: Sharer) => boolean
  readonly #taken = new Map<string, number>()
  #all = 0

  constructor(
    most: number,
    { running, isSlow }: { readonly running: Iterable<Sharer>; readonly isSlow: (sharer: Sharer) => boolean },
  ) {
    this.#most = most
    this.#isSlow = isSlow
    for (const sharer of running) this.take(sharer)
  }

  mayTake(sharer: Sharer): boolean {
    const own = this.of(sharer)
    const counted = (own === 0 ? 1 : 1 / 2) - (this.#isSlow(sharer) ? (own === 0 ? 1 / 2 : 1 / 4) : 0)
    const free = Math.floor(this.#most * counted) - this.#all
    if (own === 0) return free >= 1
    return own < free && this.#at(`there ${nameOf(sharer)}`) < free - own && this.#at(`host ${sharer.host}`) < free
  }

  take(sharer: Sharer): void {
    this.#all++
    for (const key of [`owner ${sharer.owner}`, `there ${nameOf(sharer)}`, `host ${sharer.host}`])
      this.#taken.set(key, this.#at(key) + 1)
  }

  /** How many places its owner has. */
  of({ owner }: Sharer): number {
    return this.#at(`owner ${owner}`)
  }

  #at(key: string): number {
    return this.#taken.get(key) ?? 0
  }
}

/** How long a try may take before its owner counts as slow at that host, in ms. */
const SLOW_MS = 5000
/** How many slow ones are remembered. */
const MOST_SLOW = 10_000

/** Who was slow when it was tried last. */
export class SlowSharers {
  readonly #slow = new LimitedMap<string, true>(MOST_SLOW)

  has(sharer: Sharer): boolean {
    return this.#slow.has(nameOf(sharer))
  }

  /** A try ended. `isLate`: nobody answered in time. */
  note(sharer: Sharer, { ms, isLate }: { readonly ms: number; readonly isLate: boolean }): void {
    const name = nameOf(sharer)
    this.#slow.delete(name)
    if (isLate || ms >= SLOW_MS) this.#slow.set(name, true)
  }
}
