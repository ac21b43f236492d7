import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type Served, serve } from '../../../adapters/node.js'
import { sandboxPages } from '../../../sandbox/pages/pages.js'
import { demo } from '../../../sandbox/seed/demo.js'
import { createService, type Service, type ServiceOptions } from '../../../src/index.js'
import { sandboxAccess } from '../../../src/sandbox/onion/access.js'
import { type Call, caller } from '../api.js'
import { readWire, sendLines, type WireAnswer } from '../contract/wire.js'

/** A sandbox on loopback with its pages and the demo, as a developer starts it. */
export interface Target {
  readonly url: string
  readonly port: string
  readonly service: Service
  readonly call: Call
  /** The whole state. */
  state(): Promise<unknown>
  /** Sends a request by its first line, headers and body. */
  send(first: string, headers?: readonly string[], body?: string): Promise<WireAnswer>
  close(): Promise<void>
}

/** What the setup of the tests has built. */
const built = new URL('../../../dist/demo/', import.meta.url)

export async function startTarget(options: Omit<ServiceOptions, 'storage'> = {}, at = 0): Promise<Target> {
  let service: Service | undefined
  const served: Served = await serve(
    (baseUrl) => {
      service = createService({ baseUrl, sandbox: true, seed: demo.seed, ...options })
      return sandboxPages({ service, demo, built, reach: sandboxAccess(options) })
    },
    { port: at },
  )
  const { url } = served
  const { port, host } = new URL(url)
  const started = service as Service
  return {
    url,
    port,
    service: started,
    call: caller({ url, fetch: (asked) => fetch(asked) }),
    state: async () => (await started.sandbox.snapshot()).rows,
    async send(first, headers = [], body = '') {
      const hosts = headers.some((header) => /^host:/i.test(header)) ? [] : [`Host: ${host}`]
      const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
      return readWire(await sendLines(url, [first, ...hosts, 'Connection: close', ...headers, ...length], body))
    },
    async close() {
      await served.close()
      await started.close()
    },
  }
}

/**
 * Starts a sandbox for all tests of a file. `refused` sends a request that the sandbox must refuse: after the test, the state is as it
 * was before its first such request.
 */
export function attackedSandbox(options: Omit<ServiceOptions, 'storage'> = {}) {
  let started: Target | undefined
  let before: unknown
  const target = () => {
    if (!started) throw new Error('The sandbox runs only during a test.')
    return started
  }
  beforeAll(async () => {
    started = await startTarget(options)
  })
  afterAll(() => started?.close())
  beforeEach(() => {
    before = undefined
  })
  afterEach(async () => {
    if (before) expect(await target().state()).toEqual(before)
  })
  async function refused(first: string, headers: readonly string[] = [], body = '') {
    before ??= await target().state()
    const answer = await target().send(first, headers, body)
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    expect(answer.headers['set-cookie']).toBeUndefined()
    return answer
  }
  return { target, refused }
}

/** A proxy in front of a container. It forwards requests unchanged, with `X-Forwarded-For`. */
export async function startProxy({ port }: Pick<Target, 'port'>) {
  const server = createServer((req, res) => {
    const headers = { ...req.headers, 'x-forwarded-for': '203.0.113.9' }
    const passed = request({ host: '127.0.0.1', port, method: req.method, path: req.url, headers }, (answer) => {
      res.writeHead(answer.statusCode as number, answer.headers)
      answer.pipe(res)
    })
    passed.once('error', () => res.destroy())
    req.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
