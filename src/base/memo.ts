/** Roughly what an entry costs in addition to its characters and bytes. */
const ENTRY_BYTES = 128
/** Longer inputs are rare and mostly sent to fill the memory, so they are not remembered. */
const LONGEST_INPUT = 2048

/** Wraps a pure function, so that it remembers its last results for inputs of up to 2,048 characters, in at most `limitBytes`. */
export function memoize<T extends string | Uint8Array>(
  compute: (input: string) => T,
  limitBytes: number,
): (input: string) => T {
  const known = new Map<string, T>()
  let bytes = 0
  const forget = (input: string) => {
    bytes -= sizeOf(input, known.get(input) ?? '')
    known.delete(input)
  }
  return (input) => {
    const before = known.get(input)
    if (before !== undefined) return before
    const value = compute(input)
    if (input.length > LONGEST_INPUT) return value
    known.set(ownCopy(input), value)
    bytes += sizeOf(input, value)
    for (const oldest of known.keys()) {
      if (bytes <= limitBytes) break
      forget(oldest)
    }
    return value
  }
}

/** Copies a text. Engines store a substring as a view of the whole, which stays in memory as long as the substring. */
export const ownCopy = (text: string): string => String(JSON.parse(JSON.stringify(text)))

const sizeOf = (input: string, value: string | Uint8Array): number =>
  ENTRY_BYTES + 2 * input.length + (typeof value === 'string' ? 2 * value.length : value.byteLength)

/** Computes a value on the first call and returns the same value on later calls. */
export function once<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: compute() }).value
}

/** A map with at most `most` entries. It forgets the entries that were set first. */
export class LimitedMap<K, V> extends Map<K, V> {
  constructor(readonly most: number) {
    super()
  }

  override set(key: K, value: V): this {
    super.set(key, value)
    const [oldest] = this.keys()
    if (oldest !== undefined && this.size > this.most) this.delete(oldest)
    return this
  }
}
