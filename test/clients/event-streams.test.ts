import { fetchEventSource } from '@microsoft/fetch-event-source'
import { EventSource } from 'eventsource'
import { afterEach, expect, test, vi } from 'vitest'
import { type Served, serve } from '../../adapters/node.js'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newSeededUser } from '../support/scenes/world.js'

let close = () => Promise.resolve()
afterEach(() => close())

/** A service whose server can be taken away and come back at the same address. */
async function newInterruptible() {
  const service = createService({ sandbox: true })
  let served: Served = await serve(service, { port: 0 })
  const port = Number(new URL(served.url).port)
  close = () => served.close().then(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  const { token } = await newSeededUser(call, 'ada@example.test')
  return {
    url: `${served.url}/v4/events?type=client.step`,
    headers: { authorization: `Bearer ${token}` },
    write: (n: number) => call('POST', '/v4/events', { token, body: { type: 'client.step', data: { n } } }),
    cut: () => served.close(),
    async resume() {
      served = await serve(service, { port })
    },
  }
}

/** Follows the steps with each client at once. Returns what each has seen. */
function follow({ url, headers }: Awaited<ReturnType<typeof newInterruptible>>) {
  const seen = { eventsource: [] as unknown[], fetchEventSource: [] as unknown[] }
  const opened = { eventsource: 0, fetchEventSource: 0 }
  const source = new EventSource(url, {
    fetch: (address, init) => fetch(address, { ...init, headers: { ...init.headers, ...headers } }),
  })
  source.onopen = () => void opened.eventsource++
  source.onmessage = ({ data }) => void seen.eventsource.push(`without a type: ${data}`)
  source.addEventListener('client.step', ({ data }) => seen.eventsource.push(JSON.parse(data).data.n))
  const ended = new AbortController()
  const ending = fetchEventSource(url, {
    headers,
    signal: ended.signal,
    async onopen() {
      opened.fetchEventSource++
    },
    onmessage: ({ event, data }) => void seen.fetchEventSource.push(event ? JSON.parse(data).data.n : `empty: ${data}`),
    // As its guide says: it connects again only after an error.
    onclose() {
      throw new Error('The stream ended.')
    },
  })
  const end = async () => {
    source.close()
    ended.abort()
    await ending
  }
  return { seen, opened, end }
}

test('eventsource 5 and fetch-event-source 2 follow events through a cut, without a gap or a double', async () => {
  // fetch-event-source is for pages, and finds its timers and when it is hidden there.
  vi.stubGlobal('window', globalThis)
  vi.stubGlobal('document', new EventTarget())
  const events = await newInterruptible()
  const { seen, opened, end } = follow(events)
  const both = (what: unknown) => ({ eventsource: what, fetchEventSource: what })
  await expect.poll(() => opened).toEqual(both(1))
  for (const n of [1, 2]) await events.write(n)
  await expect.poll(() => seen).toEqual(both([1, 2]))
  await events.cut()
  for (const n of [3, 4, 5]) await events.write(n)
  await events.resume()
  await expect.poll(() => seen).toEqual(both([1, 2, 3, 4, 5]))
  await events.write(6)
  await expect.poll(() => seen).toEqual(both([1, 2, 3, 4, 5, 6]))
  await end()
  vi.unstubAllGlobals()
})
