import { type FetchEvent, fire } from '../../adapters/service-worker.js'
import { indexedDbStorage } from '../../adapters/storage/indexeddb.js'
import { createService } from '../../src/slim.js'
import { demo } from '../seed/demo.js'
import { backEnd } from './back-end.js'
import { type ChannelMessage, channelName } from './requests.js'

/** The demo's service worker: the service below `pay/`, the servers of the shop and the phone, and the files of the page. */

type LastingEvent = { waitUntil(lasting: Promise<unknown>): void }

interface WorkerScope {
  readonly registration: { readonly scope: string }
  addEventListener(type: 'activate', listener: (event: LastingEvent) => void): void
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void
}

const worker = globalThis as WorkerScope & typeof globalThis // The types here are those of a page.
const { scope } = worker.registration
const channel = new BroadcastChannel(channelName(scope))
const notifyPages = (told: ChannelMessage): void => channel.postMessage(told)
// Agents cannot reach a service worker, and nothing in it answers purchases.
const { items, ...seed } = demo.seed

const service = createService({
  storage: indexedDbStorage({ name: `farthing ${new URL(scope).pathname}` }),
  baseUrl: `${scope}pay/`,
  sandbox: true,
  seed,
  mailer: { send: async () => notifyPages('mail') },
})
const shop = { service, demo }

// Release 0.1.0 stored the page's files there.
worker.addEventListener('activate', (event) => event.waitUntil(caches.delete(`farthing demo ${scope}`)))
worker.addEventListener('fetch', (event) => {
  const { request } = event
  if (request.url === `${scope}pay/v4/session/verify`) notifyPages('code')
  const isBelow = request.url.startsWith(scope)
  const answer = isBelow && backEnd[`${request.method} ${request.url.slice(scope.length)}`]
  if (answer) event.respondWith(answer(shop, request).catch(failed))
})
fire(service, { precache: ['./'] })

const failed = (error: unknown) =>
  Response.json({ error: `The shop failed: ${error}`, code: 'failed' }, { status: 500 })
