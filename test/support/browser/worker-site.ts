import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, inject } from 'vitest'
import type { register } from '../../../adapters/service-worker.js'

/** The files of a server, by path: the type and the text of each. */
export type SiteFiles = Readonly<Record<string, readonly [type: string, text: () => string]>>

const html =
  '<!doctype html><title>A site</title><link rel="icon" href="data:,"><script type="module" src="page.js"></script>'

/** A site with a page and a worker at `/own/`, and with more files. `first` may answer a request before the files do. */
export function workerSite(more: SiteFiles, first: (...args: Parameters<RequestListener>) => boolean = () => false) {
  const scripts = { page: '', worker: '' }
  const files: SiteFiles = {
    '/own/': ['text/html', () => html],
    '/own/page.js': ['text/javascript', () => scripts.page],
    '/own/worker.js': ['text/javascript', () => scripts.worker],
    ...more,
  }
  const server = createServer((request, response) => {
    if (first(request, response)) return
    const [path = ''] = (request.url ?? '').split('?')
    const file = files[path]
    if (file) response.setHeader('content-type', `${file[0]}; charset=utf-8`).end(file[1]())
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('not of this site')
  })
  const site = { origin: '', scripts }
  beforeAll(async () => {
    scripts.worker = await bundled('worker.js')
    scripts.page = await bundled('page.js')
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    site.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  return site
}

/** A script that is bundled once for a run (shared-browser.ts). */
async function bundled(name: 'page.js' | 'worker.js'): Promise<string> {
  const answer = await fetch(`${inject('browserHost')}/site/${name}`)
  if (!answer.ok) throw new Error(await answer.text())
  return answer.text()
}

/** Opens the site's page, which has registered nothing yet. */
export async function openSite(shown: Page, origin: string): Promise<void> {
  await shown.goto(`${origin}/own/`)
  await shown.waitForFunction('globalThis.register')
}

/** Registers a worker from the site's page. */
export const registerWorker = (shown: Page, script: string): Promise<void> =>
  shown.evaluate(async (script) => {
    const page = globalThis as unknown as { register: typeof register }
    await page.register(script)
  }, script)

export async function stopWorkers(shown: Page): Promise<void> {
  const session = await shown.context().newCDPSession(shown)
  await session.send('ServiceWorker.enable')
  await session.send('ServiceWorker.stopAllWorkers')
  await session.detach()
}
