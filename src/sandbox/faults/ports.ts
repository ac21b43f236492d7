import type { Upstream, UpstreamRequest } from '../../base/ports.js'
import type { FaultEngine, FaultPort, Faults, FaultyAnswer, FaultyPorts, NoteFault } from '../../http/faults.js'
import type { Storage, StorageUnavailable, Writer } from '../../storage/storage.js'
import { storageOver } from '../../storage/storage-over.js'

/** The ports of a service, as they are without faults. */
export type CalmPorts = Omit<FaultyPorts, 'storage'>

/** Ports to whose calls faults may happen. `note` gets those that do. */
export function faultyPorts(calm: CalmPorts, faults: Pick<Faults, 'engine'>, note?: NoteFault): CalmPorts {
  const { mailer, push, cards, upstream } = calm
  const call = <T>(port: FaultPort, run: () => Promise<T>): Promise<T> =>
    faults.engine ? faults.engine.call({ port, note, run }) : run()
  return {
    mailer: { send: (mail) => call('mail', () => mailer.send(mail)) },
    push: { send: (message) => call('push', () => push.send(message)) },
    cards: cards && {
      ...(cards.testMethods && { testMethods: cards.testMethods }),
      save: (card) => call('card', () => cards.save(card)),
      charge: (charge) => call('card', () => cards.charge(charge)),
      refund: (refund) => call('card', () => cards.refund(refund)),
    },
    upstream: {
      fetch: (request) =>
        faults.engine ? callUpstream(upstream, request, { engine: faults.engine, note }) : upstream.fetch(request),
    },
  }
}

interface Noting {
  readonly engine: FaultEngine
  readonly note: NoteFault | undefined
}

function callUpstream(upstream: Upstream, request: UpstreamRequest, { engine, note }: Noting): Promise<Response> {
  const { method, url, headers } = request
  // Only webhooks are signed (Standard Webhooks).
  const port = 'webhook-signature' in headers ? 'webhook' : 'upstream'
  const run = () => upstream.fetch(request)
  return engine.call({ port, method, path: new URL(url).pathname, note, run, answer: responseOf })
}

const responseOf = ({ status, headers, body }: FaultyAnswer): Response => new Response(body, { status, headers })

/** The failures that faults made of the writes to one storage. */
export class StorageFaults {
  #failed: StorageUnavailable | undefined

  constructor(
    readonly storage: Storage,
    readonly faults: Pick<Faults, 'engine'>,
  ) {}

  /** The storage with its faults, and with the last failure of a write as its `fault`, as long as faults are armed. */
  over(note?: NoteFault): Storage {
    const { storage, faults } = this
    const faulty = storageOver(storage, { write: (body) => this.#write(body, note) })
    const get = () => storage.fault ?? (faults.engine && this.#failed)
    return Object.defineProperty(faulty, 'fault', { enumerable: true, get })
  }

  async #write<T>(body: (tx: Writer) => Promise<T>, note: NoteFault | undefined): Promise<T> {
    const { engine } = this.faults
    if (!engine) return this.storage.write(body)
    try {
      const value = await engine.write(this.storage, body, note)
      this.#failed = undefined
      return value
    } catch (error) {
      if (engine.isOwn(error)) this.#failed = error
      throw error
    }
  }
}
