import { problem } from '../problem.js'
import { indexNamed, keyOf } from './key.js'
import type { Collection, Key, Reader, Row } from './storage.js'

export interface Page<R> {
  readonly rows: R[]
  /** The id to ask past for the next page, or null on the last. */
  readonly next: Key | null
}

/** A page of an index, newest (last in key order) first, past the row whose id is `after`. Throws `cursor_invalid`. */
export async function newestFirst<R extends Row, I extends string>(
  tx: Reader,
  from: Collection<R, I>,
  {
    index,
    prefix,
    limit = 20,
    after,
  }: { index: I | 'id'; prefix: Key[]; limit?: number | undefined; after?: R['id'] | undefined },
): Promise<Page<R>> {
  const last = after === undefined ? undefined : await tx.get(from, after)
  const lastKey = last && keyOf(indexNamed(from, index), last)
  if (after !== undefined && (!lastKey || prefix.some((part, i) => lastKey[i] !== part)))
    throw problem('cursor_invalid')
  const found = await tx.find(from, {
    index,
    prefix,
    limit: limit + 1,
    reverse: true,
    ...(lastKey && { after: lastKey }),
  })
  const rows = found.slice(0, limit)
  return { rows, next: found.length > limit ? (rows.at(-1) as R).id : null }
}

/** Every row under a prefix in key order, fetched in pieces. */
export async function* allRows<R extends Row, I extends string>(
  tx: Reader,
  from: Collection<R, I>,
  { index, prefix }: { index: I | 'id'; prefix: Key[] },
): AsyncGenerator<R> {
  let after: Key[] | undefined
  for (;;) {
    const rows = await tx.find(from, { index, prefix, limit: 500, ...(after && { after }) })
    yield* rows
    if (rows.length < 500) return
    after = keyOf(indexNamed(from, index), rows.at(-1) as R) as Key[]
  }
}
