import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { Watches } from '../../src/jobs/watches/watches.js'
import { followEntries } from '../../src/sandbox/journal/follow.js'
import type { Journal } from '../../src/sandbox/journal/journal.js'
import { caller } from '../support/api.js'
import { newSeller } from '../support/scenes/world.js'

/** What may wait for a long time, and so listens for the end of its server. */
const waiting: Record<string, (token: string) => Request> = {
  'a stream of events': (token) => streamOf('/v4/events', token),
  'a stream of events of one group': (token) => streamOf('/v4/events?type=client.*', token),
}

const streamOf = (path: string, token: string): Request =>
  new Request(`http://127.0.0.1:4242${path}`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
  })

/** How many listen for the end of a server, beside the service itself, which listens once. */
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length - 1

test.each(Object.entries(waiting))('%s leaves no listener behind when its reader leaves', async (_, request) => {
  const service = createService({ sandbox: true })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { token } = await newSeller(call)
  const server = new AbortController()
  for (let n = 0; n < 3; n++) {
    const answer = await service.respond(request(token), { ending: server.signal })
    expect(answer.status).toBe(200)
    const reader = answer.body?.getReader()
    await reader?.read()
    // It waits for more.
    const next = reader?.read()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(listeners(server.signal)).toBeGreaterThan(0)
    await reader?.cancel()
    await next
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(listeners(server.signal)).toBe(0)
  }
  await service.close()
})

test('a caller that waits leaves no listener behind, however its wait ends', async () => {
  const service = createService({ sandbox: true })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { token } = await newSeller(call)
  const server = new AbortController()
  const answer = await service.respond(streamOf('/v4/events', token), { ending: server.signal })
  const reader = answer.body?.getReader()
  await reader?.read()
  for (let n = 0; n < 5; n++) {
    const next = reader?.read()
    await call('POST', '/v4/events', { token, body: { type: 'client.test' } })
    await next
  }
  const before = listeners(server.signal)
  expect(before).toBeLessThan(5)
  await service.close()
  while (!(await reader?.read())?.done);
  expect(listeners(server.signal)).toBe(0)
})

test('who follows the journal leaves no listener behind, in the journal or at the signal', async () => {
  const listening = new Set<unknown>()
  const listen = (listener: unknown) => {
    listening.add(listener)
    return () => listening.delete(listener)
  }
  const journal = { listen, since: () => [] } as unknown as Journal
  const watches = new Watches({ alarm: { set: () => () => {} } })
  const service = { background: watches } as unknown as Parameters<typeof followEntries>[2]
  const own = new AbortController()
  const entries = followEntries(journal, { matches: () => true, signal: own.signal }, service)
  const next = entries.next()
  expect([listening.size, getEventListeners(own.signal, 'abort').length]).toEqual([1, 1])
  own.abort()
  expect((await next).done).toBe(true)
  expect([listening.size, getEventListeners(own.signal, 'abort').length]).toEqual([0, 0])
})
