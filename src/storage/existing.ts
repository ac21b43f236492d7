import { problem } from '../base/problem.js'
import type { Collection, Reader, Row } from './storage.js'

/** Returns a row that other rows refer to. Throws an Error with the collection and the id if it is missing. */
export async function getExisting<R extends Row>(tx: Reader, from: Collection<R>, id: R['id']): Promise<R> {
  const row = await tx.get(from, id)
  if (!row) throw new Error(`${from.name} has no row ${id}`)
  return row
}

/**
 * Returns a row that a caller names. Throws `not_found`, also for a row without these values, such as that of another
 * owner, so that nobody learns which ids exist.
 */
export async function getOrNotFound<R extends Row>(
  tx: Reader,
  from: Collection<R>,
  id: R['id'],
  values: Partial<R> = {},
): Promise<R> {
  const row = await tx.get(from, id)
  const names = Object.keys(values) as (keyof R)[]
  if (!row || names.some((name) => row[name] !== values[name])) throw problem('not_found')
  return row
}
