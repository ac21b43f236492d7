import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '../adapters/node.js'
import { fileStorage } from '../adapters/storage/file.js'
import { memoryStorage } from '../adapters/storage/memory.js'
import { createService, type Service, type ServiceOptions } from '../src/index.js'
import type { State, Storage } from '../src/storage/storage.js'

/** What a contract test may ask of a service: settings that travel to any runtime. The sandbox is always on. */
export type ContractOptions = Pick<ServiceOptions, 'evidence' | 'accountCreation' | 'limits' | 'seed' | 'twinDomain'>

/** A service running somewhere, seen through HTTP and by what it leaves at rest. */
export interface Running {
  /** Without a trailing slash. */
  readonly url: string
  fetch(request: Request): Promise<Response>
  /** Everything that its storage holds. */
  state(): Promise<State>
  close(): Promise<void>
}

export interface Runtime {
  readonly name: string
  start(options: ContractOptions): Promise<Running>
}

const inProcess = (name: string, rerun: boolean): Runtime => ({
  name,
  async start(options) {
    const storage = memoryStorage({ rerun })
    const service = createService({ ...options, sandbox: true, storage })
    return {
      url: 'http://127.0.0.1:4242',
      fetch: (request) => service.fetch(request),
      state: () => stateOf(service, storage),
      close: () => service.close(),
    }
  },
})

async function stateOf(service: Service, storage: Storage): Promise<State> {
  await service.ready()
  return storage.export()
}

const nodeServer: Runtime = {
  name: 'Node server, file storage',
  async start(options) {
    const folder = await mkdtemp(join(tmpdir(), 'farthing-'))
    const storage = await fileStorage({ file: join(folder, 'data.json') })
    let service: Service | undefined
    const served = await serve(
      (baseUrl) => {
        service = createService({ ...options, baseUrl, sandbox: true, storage })
        return service
      },
      { port: 0 },
    )
    return {
      url: served.url,
      fetch: (request) => fetch(request),
      state: () => stateOf(service as Service, storage),
      async close() {
        await served.close()
        await service?.close()
        await rm(folder, { recursive: true })
      },
    }
  },
}

/** Where the contract is held: a new contract test needs no word about them. */
export const runtimes: readonly Runtime[] = [
  inProcess('in process', false),
  inProcess('in process, every write run twice', true),
  nodeServer,
]
