// A page that pays by a service of its own, and then by that of its worker.
import { createService } from 'farthing/core'
import { indexedDbStorage } from 'farthing/storage/indexeddb'
import { pay } from './pay.mjs'

/** @param {string} path */
const at = (path) => new URL(path, location.href).href

try {
  const service = createService({
    storage: indexedDbStorage({ name: 'of the page' }),
    baseUrl: at('own/'),
    sandbox: true,
  })
  const own = await pay(service)
  const workers = navigator.serviceWorker
  const controlled = new Promise((resolve) => workers.addEventListener('controllerchange', resolve, { once: true }))
  await workers.register('page-worker.js')
  await controlled
  document.title = `${own}; ${await pay(at('pay/'))}`
} catch (error) {
  document.title = `failed: ${error instanceof Error ? `${error.message} ${error.stack}` : error}`
}
