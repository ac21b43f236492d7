import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Served, serve } from '../../adapters/node.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { post } from '../../src/money/ledger/movement.js'
import type { Reader, Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { defaultDq, newSeller, newTwin } from '../support/scenes/world.js'

/** A binder is read by 200 records. */
const PIECE = 200

let served: Served | undefined
let storage: Storage & { reads: number; failAfter: number }
let binder: { url: string; headers: Record<string, string> }
const complaints: string[] = []

beforeEach(() => {
  complaints.length = 0
  vi.spyOn(console, 'error').mockImplementation((text) => void complaints.push(String(text)))
})

/** Serves a binder of so many pieces. */
async function serveBinder(pieces: number): Promise<void> {
  const inner = memoryStorage()
  storage = {
    ...inner,
    reads: 0,
    failAfter: Number.POSITIVE_INFINITY,
    read<T>(body: (tx: Reader) => Promise<T>) {
      return ++this.reads > this.failAfter ? Promise.reject(new Error('the disk is gone')) : inner.read(body)
    },
  }
  served = await serve((baseUrl) => createService({ sandbox: true, storage, baseUrl }), { port: 0 })
  const call = caller({ url: served.url, fetch })
  const { token } = await newSeller(call)
  const { id, hostname } = await newTwin(call, token)
  const dq = await defaultDq(call)
  await inner.write(async (tx) => {
    const parties = { payerTwinId: 1, payeeTwinId: id, payerIsIssuer: true }
    for (let at = 0; at < PIECE * pieces; at++) await post(tx, { kind: 'issue', dq, amount: 1n, ...parties, at })
  })
  binder = { url: `${served.url}/v4/twin/${hostname}/binder`, headers: { authorization: `Bearer ${token}` } }
}

afterEach(async () => {
  await served?.close()
  served = undefined
  vi.restoreAllMocks()
})

test('an answer breaks off if its storage fails midway, instead of ending as if it were whole', async () => {
  const pieces = 8
  await serveBinder(pieces)
  storage.failAfter = storage.reads + 4
  const response = await fetch(binder.url, { headers: binder.headers })
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow('terminated')
  expect(complaints).toEqual([expect.stringContaining('the disk is gone')])
  storage.failAfter = Number.POSITIVE_INFINITY
  const whole = await (await fetch(binder.url, { headers: binder.headers })).text()
  expect(whole.trimEnd().split('\n')).toHaveLength(1 + PIECE * pieces)
})

test('an answer stops when the caller no longer reads it', async () => {
  // More than the buffers of a connection take.
  const pieces = 150
  await serveBinder(pieces)
  const before = storage.reads
  const response = await fetch(binder.url, { headers: binder.headers })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  await reader.cancel()
  await served?.close()
  expect(storage.reads - before).toBeLessThan(pieces)
  expect(complaints).toEqual([])
})

test('a stream of events ends when the server closes, which does not wait for it', async () => {
  const service = createService({ sandbox: true })
  const served = await serve(service, { port: 0 })
  const { users } = await service.sandbox.seed({ users: [{ email: 'ada@example.test' }] })
  const basic = `Basic ${btoa(`${users[0]?.client_id}:${users[0]?.client_secret}`)}`
  const token = await fetch(`${served.url}/v4/user/oauth/token`, { method: 'POST', headers: { authorization: basic } })
  const authorization = `Bearer ${(await token.json()).access_token}`
  const headers = { authorization, accept: 'text/event-stream' }
  const followers = await Promise.all(Array.from({ length: 12 }, () => fetch(`${served.url}/v4/events`, { headers })))
  const ended = Promise.all(followers.map((follower) => follower.text()))
  await served.close()
  // Cut off by the server in the end, they would fail.
  expect(await ended).toEqual(followers.map(() => ': following\n'))
  await service.close()
})

test('a stream of events ends cleanly when its service closes', async () => {
  const service = createService({ sandbox: true })
  const { users } = await service.sandbox.seed({ users: [{ email: 'ada@example.test' }] })
  const ask = (path: string, init: RequestInit) => service.fetch(new Request(service.baseUrl + path, init))
  const basic = `Basic ${btoa(`${users[0]?.client_id}:${users[0]?.client_secret}`)}`
  const token = await ask('/v4/user/oauth/token', { method: 'POST', headers: { authorization: basic } })
  const authorization = `Bearer ${(await token.json()).access_token}`
  const follower = await ask('/v4/events', { headers: { authorization, accept: 'text/event-stream' } })
  const reader = follower.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
  expect(new TextDecoder().decode((await reader.read()).value)).toBe(': following\n')
  const next = reader.read()
  await new Promise((resolve) => setTimeout(resolve, 20))
  await service.close()
  expect(await next).toEqual({ done: true, value: undefined })
})
