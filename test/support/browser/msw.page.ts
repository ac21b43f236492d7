import { setupWorker } from 'msw/browser'
import { handlers } from '../../../adapters/msw.js'
import { demo } from '../../../sandbox/seed/demo.js'
import { createService, type FetchSource } from '../../../src/index.js'
import { unhandled } from '../unhandled.js'

/** A page whose MSW worker answers below `/pay` with a service, and below `/streams` with what a test tells it. */

declare global {
  /** The requests of the page at `/streams`, in order. */
  var streams: ReadableStreamDefaultController<Uint8Array>[]
}

globalThis.streams = []

const service = createService({ baseUrl: `${location.origin}/pay`, sandbox: true, seed: demo.seed })
const streaming = {
  baseUrl: `${location.origin}/streams`,
  async respond(_: Request, { Response: Answer }: FetchSource = {}) {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void streams.push(controller) })
    return new (Answer as typeof Response)(body)
  },
}

const worker = setupWorker(...handlers(service), ...handlers(streaming))
await worker.start({ quiet: true, ...unhandled('bypass') })
document.documentElement.dataset.ready = 'true'
