/** Places that owners share. Half of them stay for owners who have none, and of the others nobody takes more than are free. */
export class SharedPlaces {
  /** How many there are. */
  readonly most: number
  /** How many one owner may have, even if more are free. */
  readonly mostOfOwner: number
  readonly #byOwner = new Map<string, number>()
  #taken = 0

  constructor({ most, mostOfOwner = most }: { readonly most: number; readonly mostOfOwner?: number }) {
    this.most = most
    this.mostOfOwner = mostOfOwner
  }

  get free(): number {
    return this.most - this.#taken
  }

  /** How many places an owner has. */
  of(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }

  /** Takes a place. Returns what frees it, which may be called twice. Undefined: the owner may have no more. */
  take(owner: string): (() => void) | undefined {
    const own = this.of(owner)
    const free = own === 0 ? this.free : this.free - this.most / 2
    if (own >= this.mostOfOwner || own >= free) return undefined
    this.#byOwner.set(owner, own + 1)
    this.#taken++
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#taken--
      const left = this.of(owner) - 1
      if (left > 0) this.#byOwner.set(owner, left)
      else this.#byOwner.delete(owner)
    }
  }
}
