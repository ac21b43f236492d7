import { type FetchEvent, fire } from '../../adapters/service-worker.js'
import { indexedDbStorage } from '../../adapters/storage/indexeddb.js'
import { createService } from '../../src/core.js'
import { demo } from '../seed/demo.js'
import { backEnd } from './back-end.js'
import { channelName, type Told } from './channel.js'
import { PageFiles } from './files.js'

/** The whole of the demo but its page: the service below `pay/`, the shop's server and the phone's, and the page's files. */

interface LastingEvent {
  waitUntil(lasting: Promise<unknown>): void
}

/** What of a service worker's global scope is used. */
interface WorkerScope {
  readonly registration: { readonly scope: string }
  addEventListener(type: 'install', listener: (event: LastingEvent) => void): void
  addEventListener(type: 'fetch', listener: (event: FetchEvent & LastingEvent) => void): void
}

const worker = globalThis as WorkerScope & typeof globalThis // The types here are those of a page.
const { scope } = worker.registration
const files = new PageFiles(scope)
const channel = new BroadcastChannel(channelName(scope))
const tellPages = (told: Told): void => channel.postMessage(told)

// No agent reaches a service worker, and nothing of it answers purchases.
const { items, ...seed } = demo.seed

const service = createService({
  storage: indexedDbStorage({ name: `farthing ${new URL(scope).pathname}` }),
  baseUrl: `${scope}pay/`,
  sandbox: true,
  seed,
  mailer: { send: async () => tellPages('mail') },
})
const shop = { service, demo }

worker.addEventListener('install', (event) => event.waitUntil(files.keep()))
worker.addEventListener('fetch', (event) => {
  const { request } = event
  if (request.url === `${scope}pay/v4/session/verify`) tellPages('code')
  const isBelow = request.url.startsWith(scope)
  const answer = isBelow && backEnd[`${request.method} ${request.url.slice(scope.length)}`]
  if (answer) event.respondWith(answer(shop, request).catch(failed))
  else if (files.has(request)) {
    event.respondWith(files.answer(request))
    // What is newer is shown the next time.
    if (request.mode === 'navigate') event.waitUntil(files.keep().catch(() => {}))
  }
})
fire(service)

const failed = (error: unknown) =>
  Response.json({ error: `The shop failed: ${error}`, code: 'failed' }, { status: 500 })
