import type { HttpHandler } from 'msw'
import { setupWorker } from 'msw/browser'
import { handlers } from '../../../adapters/msw.js'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService, type Service, type Storage } from '../../../src/index.js'
import { unhandled } from '../../support/unhandled.js'
import { cancelStream, carriedTo, fetchFromPage, nextPiece } from './carried.js'
import { obey } from './obey.js'

/** A page with many services side by side, each below a path of its own at the page's origin, behind one MSW worker. */

interface Running {
  readonly service: Service
  readonly storage: Storage
  readonly handlers: HttpHandler[]
}

const worker = setupWorker()
const running = new Map<number, Running>()

const answerAll = () => worker.resetHandlers(...[...running.values()].flatMap((each) => each.handlers))

// Before MSW starts, which would have every socket pass through it.
obey({
  async start(id, options) {
    await ready
    const storage = memoryStorage()
    const service = createService({ ...options, baseUrl: `${location.origin}/msw/${id}`, sandbox: true, storage })
    running.set(id, { service, storage, handlers: handlers(carriedTo(service)) })
    answerAll()
    return service.baseUrl
  },
  fetch: fetchFromPage,
  nextPiece,
  cancelStream,
  async state(id) {
    const { service, storage } = running.get(id) as Running
    await service.ready()
    return storage.export()
  },
  async stop(id) {
    const { service } = running.get(id) as Running
    running.delete(id)
    answerAll()
    await service.close()
  },
})

const ready = worker.start({
  ...unhandled('bypass'),
  quiet: true,
  serviceWorker: { url: 'mockServiceWorker.js' },
})
