import { fire, type Handler } from '../../../adapters/service-worker.js'
import { indexedDbStorage } from '../../../adapters/storage/indexeddb.js'
import { demo } from '../../../sandbox/seed/demo.js'
import { createService } from '../../../src/core.js'

/** The worker of a site with a service below `pay/`, which also answers for an address elsewhere. */

const service = createService({
  storage: indexedDbStorage(),
  baseUrl: new URL('pay/', location.href).href,
  sandbox: true,
  seed: demo.seed,
})

/** In front of the service: what it has no operation for, and tests want to see. */
const site: Handler = {
  baseUrl: service.baseUrl,
  async respond(request, source) {
    const url = source.url ?? request.url
    if (url.endsWith('/live')) return new Response(live(), { headers: { 'content-type': 'text/event-stream' } })
    if (url.endsWith('/moved')) return Response.redirect(`${service.baseUrl}/v4/dq`, 302)
    if (url.endsWith('/broken')) throw new Error('broken on purpose')
    return service.respond(request, source)
  },
}

/** An event, and another only once someone has read that one. */
function live(): ReadableStream<Uint8Array> {
  let count = 0
  return new ReadableStream(
    {
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        controller.enqueue(new TextEncoder().encode(`data: ${++count}\n\n`))
      },
    },
    { highWaterMark: 0 },
  )
}

// A test names files in the query of the script.
const precache = new URL(location.href).searchParams.getAll('precache')
fire(site, { standsFor: 'https://pay.example.test/money/', precache })
