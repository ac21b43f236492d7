/** What a remembered answer costs beside its characters and bytes, roughly. */
const ENTRY_BYTES = 128
/** Longer inputs are rare, and mostly made to fill the memory: they are computed each time. */
const LONGEST_INPUT = 2048

/**
 * A pure function that remembers its last answers, in `limitBytes` of memory at most; the oldest go first.
 * An input of more than 2,048 characters is computed each time.
 */
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

/** Engines keep a part of a string as a view of the whole, which would hold a whole request in memory for its token. */
const ownCopy = (text: string): string => String(JSON.parse(JSON.stringify(text)))

const sizeOf = (input: string, value: string | Uint8Array): number =>
  ENTRY_BYTES + 2 * input.length + (typeof value === 'string' ? 2 * value.length : value.byteLength)

/** Computes when it is first asked, and remembers. */
export function once<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: compute() }).value
}
