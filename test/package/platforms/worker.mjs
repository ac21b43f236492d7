// A service in a worker. Its random numbers begin with the first request.
import { createService } from 'farthing/core'
import { memoryStorage } from 'farthing/storage/memory'
import { pay } from './pay.mjs'

/** @type {import('farthing/core').Service | undefined} */
let service

export default {
  /** @param {Request} request */
  async fetch(request) {
    const baseUrl = new URL(request.url).origin
    // The server in front of a worker adds headers of proxies to each request, so the sandbox wants its token.
    service ??= createService({ storage: memoryStorage(), baseUrl, sandbox: true, controlToken: 'of-the-worker' })
    if (new URL(request.url).pathname === '/in-process') return new Response(await pay(service))
    return service.fetch(request)
  },
}
