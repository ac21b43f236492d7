import { deleteDB, openDB } from 'idb'
import type { State } from '../../../src/storage/storage.js'
import { writeContent } from './content.js'
import { COUNTERS, SCHEMA_STORE, storeOf } from './schema.js'

/** The name of the database that keeps an older state, such as `farthing.v1`. */
const copyName = (name: string, schema: number): string => `${name}.v${schema}`

/**
 * Puts a copy of an older state into a database of its own, which the release that wrote it can open. Then removes copies
 * of still older states: there is one at most.
 */
export async function keepOlder(name: string, state: State & { readonly schema: number }): Promise<void> {
  // An earlier try may have put one there.
  await deleteDB(copyName(name, state.schema))
  let reason: DOMException | null = null
  const made = openDB(copyName(name, state.schema), 1, {
    upgrade(db, _from, _to, tx) {
      tx.addEventListener('abort', () => (reason = tx.error))
      tx.done.catch(() => {})
      for (const store of [COUNTERS, SCHEMA_STORE]) db.createObjectStore(store)
      for (const collection of Object.keys(state.rows)) db.createObjectStore(storeOf(collection), { keyPath: 'id' })
      writeContent(tx, state)
    },
  })
  const copy = await made.catch((error: unknown) => {
    throw reason ?? error
  })
  copy.close()
  for (let older = 1; older < state.schema; older++) await deleteDB(copyName(name, older))
}
