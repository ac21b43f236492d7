import { setupServer } from 'msw/node'
import { handlers } from '../../adapters/msw.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { unhandled } from '../support/unhandled.js'
import type { Runtime } from './runtime.js'

const server = setupServer()
const open = new Set<ReturnType<typeof handlers>>()
let started = 0

function listen(change: () => void): void {
  if (open.size === 0) server.listen(unhandled('bypass'))
  change()
  server.resetHandlers(...[...open].flat())
  if (open.size === 0) server.close()
}

export const mswInNode: Runtime = {
  name: 'MSW in Node',
  holds: 'everywhere',
  async start(options) {
    const baseUrl = `http://msw-${++started}.localhost:4242`
    const storage = memoryStorage()
    const service = createService({ ...options, baseUrl, sandbox: true, storage })
    const answering = handlers(service)
    listen(() => open.add(answering))
    return {
      url: baseUrl,
      fetch: (request) => fetch(request),
      state: () => service.ready().then(() => storage.export()),
      async close() {
        listen(() => open.delete(answering))
        await service.close()
      },
    }
  },
}
