// The same worker, for runtimes that dispatch events.
import worker from './worker.mjs'

addEventListener('fetch', (event) => event.respondWith(worker.fetch(event.request)))
