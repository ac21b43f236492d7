import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import type { ContractOptions, Running, Runtime } from './runtime.js'

function over(storage: Storage, options: ContractOptions): Running {
  const service = createService({ ...options, sandbox: true, storage })
  return {
    url: service.baseUrl,
    fetch: (request) => service.fetch(request),
    state: () => service.ready().then(() => storage.export()),
    close: () => service.close(),
  }
}

const inMemory = ({ rerun, ...runtime }: Pick<Runtime, 'name' | 'holds'> & { readonly rerun: boolean }) =>
  ({
    ...runtime,
    async start(options) {
      return over(memoryStorage({ rerun }), options)
    },
    async startOver(state, options) {
      const storage = memoryStorage({ rerun })
      await storage.import(state)
      return over(storage, options)
    },
  }) satisfies Runtime

/** Runs the body of every write twice, so that hidden side effects show. */
export const inProcess = inMemory({ name: 'in process', holds: 'whole', rerun: true })
/** Its nearest relative is the Node server, which runs the same cases over a file, and each write once. */
export const inProcessOnce = inMemory({ name: 'in process, every write run once', holds: 'nothing', rerun: false })
