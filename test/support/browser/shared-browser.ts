import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserServer } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { OF_HOST } from '../../runtimes/browser/carried.js'
import { mockServiceWorker } from '../msw-release.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address that `sharedBrowser` uses. */
    browserHost: string
  }
}

/**
 * One browser for all test files that carry a runtime into it, and the pages and workers that it loads.
 * Launches the browser and bundles each script on first use, so a run without browser tests starts none.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let launched: Promise<BrowserServer> | undefined
  // Loaded on first use too: Playwright alone takes a second of each run.
  const launch = () => import('./browser.js').then(({ launchBrowserServer }) => launchBrowserServer())
  const bundle = (path: string, format: 'esm' | 'iife') =>
    import('./bundle.js').then(({ bundle }) => bundle(path, format))
  const scripts = new Map<string, Promise<string>>()
  const once = (name: string, make: () => Promise<string>) => {
    const made = scripts.get(name) ?? make()
    scripts.set(name, made)
    return made
  }
  const answers: Record<string, () => Promise<[type: string, body: string]>> = {
    '/endpoint': async () => ['text/plain', (await (launched ??= launch())).wsEndpoint()],
    '/': async () => ['text/html', '<!doctype html><title>Nothing</title><link rel="icon" href="data:,">'],
    '/worker/': async () => ['text/html', pageOf('/worker/page.js')],
    '/worker/page.js': async () => [
      'text/javascript',
      await once('page', () => bundle('runtimes/browser/worker.page.ts', 'esm')),
    ],
    '/worker/worker.js': async () => [
      'text/javascript',
      await once('worker', () => bundle('runtimes/browser/worker.worker.ts', 'iife')),
    ],
    '/site/page.js': async () => [
      'text/javascript',
      await once('site page', () => bundle('support/worker-site/page.ts', 'esm')),
    ],
    '/site/worker.js': async () => [
      'text/javascript',
      await once('site worker', () => bundle('support/worker-site/worker.ts', 'iife')),
    ],
    '/msw/': async () => ['text/html', pageOf('/msw/page.js')],
    '/msw/page.js': async () => [
      'text/javascript',
      await once('msw', () => bundle('runtimes/browser/msw.page.ts', 'esm')),
    ],
    '/msw/mockServiceWorker.js': async () => ['text/javascript', await mockServiceWorker()],
  }
  const server = createServer(async (request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? '']
    if (!answer) return response.writeHead(404, { [OF_HOST]: '404' }).end()
    try {
      const [type, body] = await answer()
      return response.setHeader('content-type', `${type}; charset=utf-8`).end(body)
    } catch (error) {
      return response.writeHead(500).end(String(error))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  project.provide('browserHost', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return async () => {
    await (await launched)?.close()
    await closed(server)
  }
}

const pageOf = (script: string): string =>
  `<!doctype html><title>A runtime</title><link rel="icon" href="data:,"><script type="module" src="${script}"></script>`

async function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}
