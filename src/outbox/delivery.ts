import type { ServiceContext } from '../context.js'
import type { Collection, Query, Row, Storage, Writer } from '../storage/storage.js'
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
      let watched: Watched | undefined
      const value = await storage.write((tx) => {
        watched = new Watched(tx)
        return body(watched)
      })
      if (watched?.hasPosted || !begun) deliver()
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

/** A transaction that tells whether a message was put into the outbox. */
class Watched implements Writer {
  hasPosted = false

  constructor(readonly tx: Writer) {}

  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    return this.tx.get(from, id)
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    return this.tx.find(from, query)
  }

  nextId(of: string): Promise<number> {
    return this.tx.nextId(of)
  }

  remove<R extends Row>(from: Collection<R>, id: R['id']): void {
    this.tx.remove(from, id)
  }

  put<R extends Row>(into: Collection<R>, row: R): void {
    if (into.name === outbox.name) this.hasPosted = true
    this.tx.put(into, row)
  }
}
