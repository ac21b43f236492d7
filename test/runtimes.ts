import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '../adapters/node.js'
import { fileStorage } from '../adapters/storage/file.js'
import { memoryStorage } from '../adapters/storage/memory.js'
import { createService, type ServiceOptions } from '../src/index.js'

/** What a contract test may ask of a service: settings that travel to any runtime. The sandbox is always on. */
export type ContractOptions = Pick<ServiceOptions, 'evidence' | 'accountCreation' | 'limits' | 'seed' | 'twinDomain'>

/** A service running somewhere, seen only through HTTP. */
export interface Running {
  /** Without a trailing slash. */
  readonly url: string
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}

export interface Runtime {
  readonly name: string
  start(options: ContractOptions): Promise<Running>
}

const inProcess = (name: string, rerun: boolean): Runtime => ({
  name,
  async start(options) {
    const service = createService({ ...options, sandbox: true, storage: memoryStorage({ rerun }) })
    return { url: 'http://127.0.0.1:4242', fetch: (request) => service.fetch(request), close: () => service.close() }
  },
})

const nodeServer: Runtime = {
  name: 'Node server, file storage',
  async start(options) {
    const folder = await mkdtemp(join(tmpdir(), 'farthing-'))
    const storage = await fileStorage({ file: join(folder, 'data.json') })
    const served = await serve((baseUrl) => createService({ ...options, baseUrl, sandbox: true, storage }), { port: 0 })
    return {
      url: served.url,
      fetch: (request) => fetch(request),
      async close() {
        await served.close()
        await storage.close()
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
