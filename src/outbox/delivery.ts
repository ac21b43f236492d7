import type { ServiceContext } from '../context.js'
import type { Collection, Row, Storage, Writer } from '../storage/storage.js'
import { deliverOutbox, outbox } from './outbox.js'

/**
 * A storage that has the outbox delivered after each write that put a message there, and after its first write:
 * messages may be left from before a restart. Closing it waits for what is being delivered.
 */
export function deliveringStorage(storage: Storage, context: Omit<ServiceContext, 'storage'>): Storage {
  let delivering: Promise<void> = Promise.resolve()
  let waiting = false
  let begun = false
  let closing = false

  function deliver(): void {
    // A round that has not begun yet will see this message too.
    if (waiting || closing) return
    waiting = true
    delivering = delivering
      .then(() => {
        waiting = false
        return deliverOutbox({ ...context, storage })
      })
      .catch((cause: unknown) => context.log.error('the outbox could not be delivered', cause))
  }

  return {
    name: storage.name,
    read: (body) => storage.read(body),
    export: () => storage.export(),
    async import(state) {
      await storage.import(state)
      deliver()
    },
    async write(body) {
      let posted = false
      const value = await storage.write((tx) => body(watching(tx, () => (posted = true))))
      if (posted || !begun) deliver()
      begun = true
      return value
    },
    async close() {
      closing = true
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
