import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '../../adapters/node.js'
import { fileStorage } from '../../adapters/storage/file.js'
import { createService, type Service } from '../../src/index.js'
import type { Runtime } from './runtime.js'

/** Where the sites of the contract's tests are. */
const allowOrigins = ['shop', 'app', 'agent'].map((name) => `https://${name}.example.test`)

export const nodeServer: Runtime = {
  name: 'Node server, file storage',
  holds: 'whole',
  async start(options) {
    const folder = await mkdtemp(join(tmpdir(), 'farthing-'))
    const storage = await fileStorage({ file: join(folder, 'data.json') })
    let service: Service | undefined
    const served = await serve(
      (baseUrl) => {
        service = createService({ ...options, baseUrl, sandbox: true, storage, allowOrigins })
        return service
      },
      { port: 0 },
    )
    return {
      url: served.url,
      fetch: (request) => fetch(request),
      state: async () => {
        await service?.ready()
        return storage.export()
      },
      async close() {
        await served.close()
        await service?.close()
        await rm(folder, { recursive: true })
      },
    }
  },
}
