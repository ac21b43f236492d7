import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '../../adapters/node.js'
import { fileStorage } from '../../adapters/storage/file.js'
import { createService, type Service } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { borrowPostgres } from '../support/storage/borrowed-postgres.js'
import type { ContractOptions, Running, Runtime } from './runtime.js'

/** Where the sites of the contract's tests are. */
const allowOrigins = ['shop', 'app', 'agent'].map((name) => `https://${name}.example.test`)

/** In memory where there is such a folder: the contract starts thousands of servers, and disks are tested elsewhere. */
const scratch = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export const nodeServer: Runtime = {
  name: 'Node server, file storage',
  holds: 'everywhere',
  async start(options) {
    const folder = await mkdtemp(join(scratch, 'farthing-'))
    const running = await serveOver(await fileStorage({ file: join(folder, 'data.json') }), options)
    return { ...running, close: () => running.close().then(() => rm(folder, { recursive: true })) }
  },
}

/** Each service borrows a schema, which the next one gets empty. Creating all tables takes longer than most cases. */
export const nodeServerOnPostgres: Runtime = {
  name: 'Node server, PostgreSQL',
  holds: 'everywhere',
  async start(options) {
    const { storage, giveBack } = await borrowPostgres()
    const running = await serveOver(storage, options)
    return { ...running, close: () => running.close().then(giveBack) }
  },
}

async function serveOver(storage: Storage, options: ContractOptions): Promise<Running> {
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
    },
  }
}
