import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'
import { setupServer } from 'msw/node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { handlers } from '../../adapters/msw.js'
import { createService, type Service } from '../../src/index.js'
import { keptBrowser } from '../support/browser/browser.js'

async function start(): Promise<Service> {
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  await service.ready()
  return service
}

/** More calls than any loop needs that lets others run. */
const MANY = 20_000

const asks: readonly (readonly [string, (service: Service) => Promise<unknown>])[] = [
  ['service.fetch', ({ fetch }) => fetch('/v4/dq')],
  ['the global fetch through MSW', ({ baseUrl }) => fetch(`${baseUrl}/v4/dq`)],
  ['a control', ({ sandbox }) => sandbox.outbox()],
  ['a control of a group', ({ sandbox }) => sandbox.requests.list({ limit: 1 })],
  ['a control of the state', ({ sandbox }) => sandbox.credentials()],
  ['a call that fails', ({ sandbox }) => sandbox.approve('unknown').catch(() => {})],
]

test.each(asks)('who calls %s again and again without waiting lets timers and sockets run', async (_, ask) => {
  const service = await start()
  const server = setupServer(...handlers(service))
  server.listen({ onUnhandledRequest: 'bypass' })
  onTestFinished(() => server.close())
  // What is loaded at a first call takes turns of its own.
  for (let n = 0; n < 3; n++) await ask(service)
  const [timer, socket] = [vi.fn(), vi.fn()]
  setTimeout(timer, 1)
  await askAcrossSocket(socket)
  let calls = 0
  while (!(timer.mock.calls.length > 0 && socket.mock.calls.length > 0) && calls < MANY) {
    await ask(service)
    calls++
  }
  expect(calls).toBeLessThan(MANY)
})

async function askAcrossSocket(answered: () => void): Promise<void> {
  const server = createServer((_, res) => res.end()).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false }, answered).end()
}

test('fake timers of a test neither stop a loop of calls nor are moved by it', async () => {
  const service = await start()
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  await service.fetch('/v4/dq')
  const [before, timer] = [Date.now(), vi.fn()]
  setTimeout(timer, 1)
  for (let n = 0; n < 300; n++) expect((await service.fetch('/v4/dq')).status).toBe(200)
  expect(Date.now()).toBe(before)
  expect(timer).not.toHaveBeenCalled()
})

test('calls leave nothing open that keeps a process alive', async () => {
  const service = await start()
  const open = () => process.getActiveResourcesInfo().filter((name) => /immediate|port/i.test(name))
  const before = open()
  for (let n = 0; n < 300; n++) await service.fetch('/v4/dq')
  await expect.poll(open).toEqual(before)
})

/** Settles whether a timer rings while answers come at once. Runs in the page and in the worker. */
const loop = `
  import { givesWay } from './src/base/event-loop.ts'
  globalThis.ringsDuring = async (many) => {
    const giveWay = givesWay()
    let isRung = false
    setTimeout(() => { isRung = true }, 1)
    for (let n = 0; n < many && !isRung; n++) await giveWay(Promise.resolve())
    return isRung
  }
  if (typeof importScripts === 'function') ringsDuring(1e7).then(postMessage)`

test('timers run in a page and in a worker too', async () => {
  const { outputFiles } = await build({ stdin: { contents: loop, resolveDir: '.' }, bundle: true, write: false })
  const script = outputFiles[0]?.text ?? ''
  const context = await (await keptBrowser()).newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.addScriptTag({ content: script })
  expect(await page.evaluate('ringsDuring(1e7)')).toBe(true)
  const inWorker = `new Promise((resolve) => {
    const url = URL.createObjectURL(new Blob([${JSON.stringify(script)}], { type: 'text/javascript' }))
    new Worker(url).onmessage = ({ data }) => resolve(data)
  })`
  expect(await page.evaluate(inWorker)).toBe(true)
})
