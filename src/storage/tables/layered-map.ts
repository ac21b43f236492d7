/** What a layer holds for a key that a newer layer removed. */
const REMOVED = Symbol('removed')

type Layer<K, V> = Map<K, V | typeof REMOVED>

/**
 * A map whose copies share what they hold. Each layer replaces parts of those before it. Only the newest one is written,
 * and a map that was never copied has no other.
 */
export class LayeredMap<K, V> {
  #own: Layer<K, V> = new Map()
  /** The oldest first. Nothing changes them. */
  #layers: readonly Layer<K, V>[] = []
  /** How many keys it has. Rows ask each time, so it is no getter. */
  size = 0

  get(key: K): V | undefined {
    const value = this.#own.get(key) ?? (this.#layers.length > 0 ? this.#below(key) : undefined)
    return value === REMOVED ? undefined : value
  }

  set(key: K, value: V): void {
    const known = this.#own.get(key) ?? (this.#layers.length > 0 ? this.#below(key) : undefined)
    if (known === undefined || known === REMOVED) this.size++
    this.#own.set(key, value)
  }

  delete(key: K): void {
    if (this.get(key) === undefined) return
    this.size--
    if (this.#below(key) === undefined) this.#own.delete(key)
    else this.#own.set(key, REMOVED)
  }

  /** Every value, in no order. */
  *values(): Generator<V> {
    for (const [at, layer] of [...this.#layers, this.#own].entries())
      for (const [key, value] of layer) if (value !== REMOVED && !this.#isReplaced(key, at)) yield value
  }

  /** A map with the same content. Nothing may be written to this one any more. */
  copy(): LayeredMap<K, V> {
    const copy = new LayeredMap<K, V>()
    copy.#layers = this.#own.size === 0 ? this.#layers : joined([...this.#layers, this.#own])
    copy.size = this.size
    return copy
  }

  #below(key: K): V | typeof REMOVED | undefined {
    for (let at = this.#layers.length - 1; at >= 0; at--) {
      const value = this.#layers[at]?.get(key)
      if (value !== undefined) return value
    }
    return undefined
  }

  #isReplaced(key: K, at: number): boolean {
    for (let newer = at + 1; newer < this.#layers.length; newer++) if (this.#layers[newer]?.has(key)) return true
    return at < this.#layers.length && this.#own.has(key)
  }
}

/** Joins layers until each is more than twice as large as the next, so that there are few, and rarely joins large ones. */
function joined<K, V>(layers: Layer<K, V>[]): Layer<K, V>[] {
  for (;;) {
    const newer = layers.at(-1)
    const older = layers.at(-2)
    if (!newer || !older || older.size > 2 * newer.size) return layers
    const both: Layer<K, V> = new Map(older)
    for (const [key, value] of newer)
      if (value === REMOVED && layers.length === 2) both.delete(key)
      else both.set(key, value)
    layers.splice(-2, 2, both)
  }
}
