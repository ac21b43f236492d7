import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import type { Runtime } from './runtime.js'

const inMemory = ({ rerun, ...runtime }: Pick<Runtime, 'name' | 'holds'> & { readonly rerun: boolean }): Runtime => ({
  ...runtime,
  async start(options) {
    const storage = memoryStorage({ rerun })
    const service = createService({ ...options, sandbox: true, storage })
    return {
      url: service.baseUrl,
      fetch: (request) => service.fetch(request),
      state: () => service.ready().then(() => storage.export()),
      close: () => service.close(),
    }
  },
})

/** Runs the body of every write twice, so that hidden side effects show. */
export const inProcess = inMemory({ name: 'in process', holds: 'whole', rerun: true })
/** Its nearest relative is the Node server, which runs the same cases over a file, and each write once. */
export const inProcessOnce = inMemory({ name: 'in process, every write run once', holds: 'nothing', rerun: false })
