import { chromium, type Page } from 'playwright-core'
import { inject } from 'vitest'
import { bytesOf, textOf } from './browser/carried.js'
import type { Commands } from './browser/commands.js'
import type { Runtime } from './runtime.js'

declare global {
  /** Of the pages under test. */
  var commands: Commands
}

/** A runtime inside of a page: services are started there, and a test's requests are fetched from there. */
function inChromium(name: string, path: string): Runtime {
  let opened: Promise<Page> | undefined
  let started = 0
  return {
    name,
    async start(options) {
      const page = await (opened ??= openPage(path))
      const id = ++started
      const url = await page.evaluate(({ id, options }) => commands.start(id, options), { id, options })
      return {
        url,
        async fetch(request) {
          const carried = {
            url: request.url,
            method: request.method,
            headers: [...request.headers],
            body: textOf(new Uint8Array(await request.arrayBuffer())),
          }
          const { status, headers, body } = await page.evaluate((sent) => commands.fetch(sent), carried)
          const isEmpty = status === 204 || status === 304
          const shown = isEmpty ? null : typeof body === 'string' ? bytesOf(body) : streamFrom(page, body)
          return new Response(shown, { status, headers: headers.map(([...pair]) => pair) })
        },
        state: () => page.evaluate((id) => commands.state(id), id),
        close: () => page.evaluate((id) => commands.stop(id), id),
      }
    },
  }
}

const streamFrom = (page: Page, stream: number): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      const piece = await page.evaluate((stream) => commands.nextPiece(stream), stream)
      if (piece === null) controller.close()
      else controller.enqueue(bytesOf(piece))
    },
    cancel: () => page.evaluate((stream) => commands.cancelStream(stream), stream),
  })

/** A page of the run's one browser, in a context of its own: it goes when this process does. */
async function openPage(path: string): Promise<Page> {
  const host = inject('browserHost')
  const endpoint = await (await fetch(`${host}/endpoint`)).text()
  const context = await (await chromium.connect(endpoint)).newContext()
  const page = await context.newPage()
  page.on('pageerror', (error) => process.stderr.write(`${path}: ${error.stack}\n`))
  await page.goto(host + path)
  return page
}

export const workerInChromium = inChromium('service worker, IndexedDB, in Chromium', '/worker/')
export const mswInChromium = inChromium('MSW in Chromium', '/msw/')
