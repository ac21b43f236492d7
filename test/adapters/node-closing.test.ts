import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { type Handler, type Served, serve } from '../../adapters/node.js'
import { createService, type UpstreamRequest } from '../../src/index.js'
import { caller } from '../support/api.js'
import { gate } from '../support/scenes/card-service.js'
import { newItem } from '../support/scenes/carts.js'
import { purchase } from '../support/scenes/catalog.js'
import { balanceOf, newPayer, newSeller } from '../support/scenes/world.js'

/** Waits longer than a busy machine takes. */
const until = (check: () => unknown) => vi.waitUntil(check)

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function served(handler: Handler, closeMs?: number): Promise<Served> {
  const server = await serve(handler, { port: 0, ...(closeMs !== undefined && { closeMs }) })
  open.push(server)
  return server
}

/** A connection whose bytes the test writes and reads, and how it ended. */
async function connected({ server }: Served) {
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  open.push({ close: () => socket.destroy() })
  const seen = { text: '', end: '' }
  socket.on('data', (chunk) => (seen.text += chunk))
  socket.on('end', () => (seen.end ||= 'ended'))
  socket.on('error', (error) => (seen.end ||= String(error)))
  await new Promise((resolve) => socket.once('connect', resolve))
  const ask = () => socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  return { seen, ask, socket }
}

const answering: Handler = { fetch: () => new Response('whole') }

test('the answer to a request that runs when the server closes says that its connection closes', async () => {
  const { opened, open: release } = gate()
  let asked = 0
  const server = await served({
    async fetch() {
      asked++
      await opened
      return new Response('whole')
    },
  })
  const { seen, ask } = await connected(server)
  ask()
  await until(() => asked === 1)
  const closed = server.close()
  release()
  await closed
  await until(() => seen.end !== '')
  expect(seen.text).toMatch(/^HTTP\/1\.1 200 /)
  expect(seen.text).toMatch(/^connection: close\r$/im)
  expect(seen.text).toContain('whole')
})

test('a request that arrives on an open connection while the server closes is answered', async () => {
  const server = await served(answering)
  const { seen, ask } = await connected(server)
  ask()
  await until(() => seen.text.includes('whole'))
  expect(seen.text).toMatch(/^connection: keep-alive\r$/im)
  seen.text = ''
  const closed = server.close()
  ask()
  await closed
  await until(() => seen.end !== '')
  expect(seen.text).toContain('whole')
  expect(seen.text).toMatch(/^connection: close\r$/im)
  expect(seen.end).toBe('ended')
})

test('from the moment the server closes, the service is not ready, also if its first request comes then', async () => {
  const service = createService()
  open.push(service)
  await service.ready()
  const server = await served(service)
  const { seen, socket } = await connected(server)
  const closed = server.close()
  socket.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await closed
  await until(() => seen.end !== '')
  expect(seen.text).toMatch(/^HTTP\/1\.1 503 /)
  expect(seen.text).toContain('It is closing.')
})

test('idle connections, and those that never asked anything, end without an error', async () => {
  const server = await served(answering)
  const [idle, unused] = [await connected(server), await connected(server)]
  idle.ask()
  await until(() => idle.seen.text.includes('whole'))
  await server.close()
  await until(() => idle.seen.end !== '' && unused.seen.end !== '')
  expect([idle.seen.end, unused.seen.end]).toEqual(['ended', 'ended'])
})

test('a request that never ends is broken off after closeMs', async () => {
  const server = await served({ fetch: () => new Promise<Response>(() => {}) }, 300)
  const { seen, ask } = await connected(server)
  ask()
  await new Promise((resolve) => setTimeout(resolve, 20))
  await server.close()
  await until(() => seen.end !== '')
  expect(seen.text).toBe('')
})

test('32 clients that never pause see answers until the server takes no more connections, and no reset', async () => {
  const server = await served({
    async fetch() {
      await new Promise((resolve) => setTimeout(resolve, 1))
      return new Response('whole')
    },
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  open.push({ close: () => agent.destroy() })
  const ask = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const asked = httpRequest(server.url, { agent }, (answer) => answer.resume().once('end', () => resolve(answer)))
      asked.once('error', reject).end()
    })
  let answers = 0
  const failures: unknown[] = []
  const client = async () => {
    for (;;) {
      try {
        expect((await ask()).statusCode).toBe(200)
        answers++
      } catch (error) {
        failures.push((error as NodeJS.ErrnoException).code)
        return
      }
    }
  }
  const clients = Array.from({ length: 32 }, client)
  await until(() => answers > 200)
  await server.close()
  await Promise.all(clients)
  expect(failures).toEqual(Array(32).fill('ECONNREFUSED'))
})

/** A payer, an item, and an endpoint that hangs, over a service with little time to close. */
async function hanging() {
  const asked: string[] = []
  const upstream = {
    fetch: ({ url, signal }: UpstreamRequest) => {
      asked.push(url)
      return new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  const service = createService({ sandbox: true, upstream, limits: { closeMs: 1000 } })
  open.push(service)
  const inside = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(inside)
  const payer = await newPayer(inside, seller, { balance: 10 })
  const item = await newItem(inside, seller, { external_endpoint: 'https://api.example.test/story' })
  return { service, inside, payer, item, asked, upstream }
}

test('an upstream call that hangs is ended and its payment reversed before the server breaks its request off', async () => {
  const { service, inside, payer, item, asked } = await hanging()
  const server = await served(service, 1000)
  const outside = caller({ url: server.url, fetch })
  const bought = purchase(outside, { token: payer.token }, item)
  await until(() => asked.length === 1)
  await server.close()
  const answer = await bought
  expect([answer.status, answer.body.code]).toEqual([502, 'upstream_failed'])
  expect(await balanceOf(inside, payer.token, payer.hostname)).toBe(10)
})

test('a service goes on calling after a server in front of it has closed', async () => {
  const { service, inside, payer, item, asked, upstream } = await hanging()
  const server = await served(service, 1000)
  expect((await fetch(`${server.url}/_sandbox/health`)).status).toBe(200)
  await server.close()
  await new Promise((resolve) => setTimeout(resolve, 1000))
  upstream.fetch = async ({ url }) => {
    asked.push(url)
    return new Response('The story.')
  }
  expect((await purchase(inside, { token: payer.token }, item)).status).toBe(201)
})

test('a service that closes ends upstream calls that hang, and reverses their payments', async () => {
  const { service, inside, payer, item, asked } = await hanging()
  const bought = purchase(inside, { token: payer.token }, item)
  await until(() => asked.length === 1)
  await Promise.all([service.close({ withinMs: 200 }), service.close()])
  const answer = await bought
  expect([answer.status, answer.body.code]).toEqual([502, 'upstream_failed'])
})
