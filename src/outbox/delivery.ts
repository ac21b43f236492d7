import type { ServiceContext } from '../context.js'
import type { Collection, Row, Storage, Writer } from '../storage/storage.js'
import { deliverOutbox, outbox } from './outbox.js'

/** A storage that has the outbox delivered after each write that put a message there; closing it waits for that. */
export function deliveringStorage(storage: Storage, context: Omit<ServiceContext, 'storage'>): Storage {
  let delivering: Promise<void> = Promise.resolve()

  function deliver(): void {
    delivering = delivering
      .then(() => deliverOutbox({ ...context, storage }))
      .catch((cause: unknown) => context.log.error('the outbox could not be delivered', cause))
  }

  return {
    name: storage.name,
    read: (body) => storage.read(body),
    export: () => storage.export(),
    import: (state) => storage.import(state),
    async write(body) {
      let posted = false
      const value = await storage.write((tx) => body(watching(tx, () => (posted = true))))
      if (posted) deliver()
      return value
    },
    async close() {
      await delivering
      await storage.close()
    },
  }
}

const watching = (tx: Writer, onPosted: () => void): Writer => ({
  get: (from, id) => tx.get(from, id),
  find: (from, query) => tx.find(from, query),
  nextId: (of) => tx.nextId(of),
  remove: (from, id) => tx.remove(from, id),
  put<R extends Row>(into: Collection<R>, row: R) {
    if (into.name === outbox.name) onPosted()
    tx.put(into, row)
  },
})
