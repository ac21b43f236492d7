import type { Collection, Reader, Row } from './storage.js'

/** The row of that id, which other rows say is there. Throws an Error with the collection and the id where it is missing. */
export async function getExisting<R extends Row>(tx: Reader, from: Collection<R>, id: R['id']): Promise<R> {
  const row = await tx.get(from, id)
  if (!row) throw new Error(`${from.name} has no row ${id}`)
  return row
}
