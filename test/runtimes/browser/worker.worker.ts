import { type FetchEvent, fire, handle } from '../../../adapters/service-worker.js'
import { indexedDbStorage } from '../../../adapters/storage/indexeddb.js'
import { createService, type Service, type Storage, schemaHistory } from '../../../src/core.js'
import { carriedTo } from './carried.js'
import type { Commands } from './commands.js'

/** A worker with many services, each below a path of its own, over a database that no other one uses meanwhile. */

interface Running {
  readonly service: Service
  readonly storage: Storage
  readonly database: string
  readonly listener: (event: FetchEvent) => void
}

const running = new Map<number, Running>()
/** Databases that are empty again. Creating all stores and indexes takes longer than most cases. */
const free: string[] = []
const here = new URL('.', location.href).href

const commands: Pick<Commands, 'start' | 'state' | 'stop'> = {
  async start(id, options) {
    const database = free.pop() ?? `contract ${id}`
    const storage = indexedDbStorage({ name: database })
    const service = createService({ ...options, baseUrl: `${here}${id}`, sandbox: true, storage })
    running.set(id, { service, storage, database, listener: handle(carriedTo(service)) })
    return service.baseUrl
  },
  async state(id) {
    const { service, storage } = running.get(id) as Running
    await service.ready()
    return storage.export()
  },
  async stop(id) {
    const { service, database } = running.get(id) as Running
    running.delete(id)
    await service.close()
    const emptied = indexedDbStorage({ name: database })
    await emptied.import({ schema: schemaHistory.current, counters: {}, rows: {} })
    await emptied.close()
    free.push(database)
  },
}

addEventListener('message', (event) => {
  const { data, ports } = event as MessageEvent<{ command: keyof typeof commands; args: never[] }>
  const command = commands[data.command] as ((...args: never[]) => Promise<unknown>) | undefined
  if (!command) return
  const done = command(...data.args).then(
    (value) => ports[0]?.postMessage({ value }),
    (error) => ports[0]?.postMessage({ error: String(error) }),
  )
  ;(event as unknown as { waitUntil(lasting: Promise<unknown>): void }).waitUntil(done)
})

// The worker answers for many services: each looks whether a request is its own.
addEventListener('fetch', (event) => {
  for (const { listener } of running.values()) listener(event as unknown as FetchEvent)
})

fire({ baseUrl: `${here}none`, respond: async () => new Response(null, { status: 404 }) })
