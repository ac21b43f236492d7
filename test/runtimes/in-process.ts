import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import type { Runtime } from './runtime.js'

const inMemory = (name: string, rerun: boolean): Runtime => ({
  name,
  holds: 'whole',
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

export const inProcess = inMemory('in process', false)
export const inProcessTwice = inMemory('in process, every write run twice', true)
