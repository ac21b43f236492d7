import type { Collection, Reader, Row } from './storage.js'

/** Returns a row that other rows refer to. Throws an Error with the collection and the id if it is missing. */
export async function getExisting<R extends Row>(tx: Reader, from: Collection<R>, id: R['id']): Promise<R> {
  const row = await tx.get(from, id)
  if (!row) throw new Error(`${from.name} has no row ${id}`)
  return row
}
