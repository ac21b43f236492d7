import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { chromium } from 'playwright-core'
import { inject } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { quickenPromises } from '../support/browser/quick-promises.js'
import { bytesOf, textOf } from './browser/carried.js'
import type { Asked, Commands, Done } from './browser/commands.js'
import type { Runtime } from './runtime.js'

/** A runtime inside of a page: services are started there, and a test's requests are fetched from there. */
function inChromium(name: string, path: string, holds: Runtime['holds']): Runtime {
  let opened: Promise<Commands> | undefined
  let started = 0
  return {
    name,
    holds,
    async start(options) {
      // One that failed is the failure of one test: the next has another.
      opened ??= openPage(path, () => (opened = undefined))
      const page = await opened
      const id = ++started
      return {
        url: await page.start(id, options),
        async fetch(request) {
          const { status, headers, body } = await page.fetch({
            url: request.url,
            method: request.method,
            headers: [...request.headers],
            body: textOf(new Uint8Array(await request.arrayBuffer())),
          })
          const isEmpty = status === 204 || status === 304
          const shown = isEmpty ? null : typeof body === 'string' ? bytesOf(body) : streamFrom(page, body)
          return new Response(shown, { status, headers: headers.map(([...pair]) => pair) })
        },
        state: () => page.state(id),
        close: () => page.stop(id),
      }
    },
  }
}

const streamFrom = (page: Commands, stream: number): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      const piece = await page.nextPiece(stream)
      if (piece === null) controller.close()
      else controller.enqueue(bytesOf(piece))
    },
    cancel: () => page.cancelStream(stream),
  })

/**
 * A page of the run's one browser, in a context of its own: it goes when this process does. It is told what to do over a
 * socket, and Playwright, which knows no context that it did not make, leaves it alone: watching a page, and speaking with
 * it by the browser's protocol, takes more time than the tests.
 */
async function openPage(path: string, gone: () => void): Promise<Commands> {
  const host = inject('browserHost')
  const endpoint = await (await fetch(`${host}/endpoint`)).text()
  const browser = await (await chromium.connect(endpoint)).newBrowserCDPSession()
  const { browserContextId } = await browser.send('Target.createBrowserContext')
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const connected = once(server, 'connection', { signal: AbortSignal.timeout(60_000) })
  const { port } = server.address() as AddressInfo
  await browser.send('Target.createTarget', { url: `${host}${path}#${port}`, browserContextId })
  quickenPromises()
  const [socket] = await connected.catch((cause) => {
    gone()
    throw new Error(`the page ${path} of test/support/browser/shared-browser.ts fails as it loads`, { cause })
  })
  socket.on('close', gone)
  return commandsOver(socket, path)
}

function commandsOver(socket: WebSocket, path: string): Commands {
  const waiting = new Map<number, (done: Done) => void>()
  let last = 0
  socket.on('message', (data) => {
    const done: Done = JSON.parse(data.toString())
    const settle = waiting.get(done.number)
    if (settle) settle(done)
    else process.stderr.write(`${path}: ${done.error}\n`)
    waiting.delete(done.number)
  })
  socket.on('close', () => {
    for (const [number, settle] of waiting) settle({ number, error: `the page ${path} is gone` })
  })
  const ask =
    (command: keyof Commands) =>
    async (...args: unknown[]): Promise<any> => {
      const number = ++last
      const done = new Promise<Done>((resolve) => waiting.set(number, resolve))
      socket.send(JSON.stringify({ number, command, args: args as never[] } satisfies Asked))
      const { value, error } = await done
      if (error !== undefined) throw new Error(error)
      return value
    }
  return {
    start: ask('start'),
    fetch: ask('fetch'),
    nextPiece: ask('nextPiece'),
    cancelStream: ask('cancelStream'),
    state: ask('state'),
    stop: ask('stop'),
  }
}

export const workerInChromium = inChromium('service worker, IndexedDB, in Chromium', '/worker/', 'worker')
export const mswInChromium = inChromium('MSW in Chromium', '/msw/', 'pages')
