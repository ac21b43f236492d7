import type { HttpHandler } from 'msw'
import { setupWorker } from 'msw/browser'
import { handlers } from '../../../adapters/msw.js'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService, type Service, type Storage } from '../../../src/index.js'
import { unhandled } from '../../support/unhandled.js'
import { type CarriedRequest, cancelStream, carriedTo, fetchFromPage, nextPiece, OF_HOST } from './carried.js'
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
  fetch: fetchIntercepted,
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

/**
 * A browser ends a worker that is idle for half a minute, and calls the timers of a page that nobody sees too seldom to keep
 * it. MSW's worker then forgets the page, whose requests reach the host.
 */
async function fetchIntercepted(request: CarriedRequest): ReturnType<typeof fetchFromPage> {
  const answer = await fetchFromPage(request)
  if (!answer.headers.some(([name]) => name === OF_HOST)) return answer
  await remindWorker(navigator.serviceWorker)
  return fetchFromPage(request)
}

/** Says to MSW's worker, as its client did at the start, that this page has handlers. */
const remindWorker = (container: ServiceWorkerContainer): Promise<void> =>
  new Promise((resolve) => {
    container.addEventListener('message', function hear({ data }) {
      if (data?.type !== 'MOCKING_ENABLED') return
      container.removeEventListener('message', hear)
      resolve()
    })
    container.controller?.postMessage('MOCK_ACTIVATE')
  })
