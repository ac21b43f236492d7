/** A pure function that remembers its last answers, up to `limit` of them; the oldest go first. */
export function memoize<T>(compute: (input: string) => T, limit: number): (input: string) => T {
  const known = new Map<string, T>()
  return (input) => {
    const before = known.get(input)
    if (before !== undefined) return before
    const value = compute(input)
    if (known.size >= limit) known.delete(known.keys().next().value as string)
    known.set(input, value)
    return value
  }
}

/** Computes when it is first asked, and remembers. */
export function once<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: compute() }).value
}
