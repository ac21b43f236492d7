import { afterEach, expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { answerMessage, type ChangeFeed } from '../../src/agents/mcp/offer.js'
import { createService, type Service, type ServiceOptions } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'
import { callsOf, countingStorage } from '../support/storage/counting-storage.js'

const started: Service[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()))
})

async function start(more: Partial<ServiceOptions> = {}) {
  const storage = countingStorage(memoryStorage())
  const service = createService({ storage, sandbox: true, limits: { closeMs: 20 }, ...more })
  started.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  /** Opens a stream of events, and reads until it follows. */
  const open = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const answer = await service.fetch(new Request(`${service.baseUrl}/v4/events`, { headers }))
    if (answer.status !== 200) return { answer, cancel: async () => {} }
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    const next = reader.read()
    next.catch(() => {})
    return { answer, next, cancel: () => reader.cancel() }
  }
  return { service, storage, call, open }
}

test('a payment between strangers asks the storage for no more while 500 streams of others are open', async () => {
  const { storage, call, open } = await start()
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 100 })
  const { hash } = await newCommodity(call, seller)
  const pay = () => call('POST', `/v4/payment/${hash}`, { token: payer.token })
  await pay()
  const alone = await callsOf(storage, pay)
  for (let n = 0; n < 10; n++) {
    const other = await newSeller(call)
    await Promise.all(Array.from({ length: 50 }, () => open(other.token)))
  }
  expect(await callsOf(storage, pay)).toBe(alone)
})

test('a stream sees its own payments at once, and ends with its credential', async () => {
  const { service, call, open } = await start()
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 100 })
  const { hash } = await newCommodity(call, seller)
  const stream = await open(payer.token)
  const { body } = await call('POST', `/v4/payment/${hash}`, { token: payer.token })
  const { value } = (await stream.next) ?? {}
  expect(new TextDecoder().decode(value)).toContain(`"payment:${body.id}"`)
  const other = await open(payer.token)
  await service.sandbox.advance('2h')
  expect(await other.next).toMatchObject({ done: true })
})

test('an account opens 50 streams and no more, its unproven users count against it, and others open theirs', async () => {
  const { call, open } = await start()
  const seller = await newSeller(call)
  const other = await newSeller(call)
  const unproven = await newPayer(call, seller)
  const opened = await Promise.all(Array.from({ length: 49 }, () => open(seller.token)))
  opened.push(await open(unproven.token))
  for (const token of [seller.token, unproven.token]) {
    const { answer } = await open(token)
    const body = await answer.json()
    expect([answer.status, body.code]).toEqual([429, 'too_many_streams'])
    expect([body.limit, answer.headers.get('retry-after')]).toEqual([50, '60'])
  }
  expect((await open(other.token)).answer.status).toBe(200)
  await opened[0]?.cancel()
  await vi.waitFor(async () => expect((await open(seller.token)).answer.status).toBe(200))
})

test('a stream that nobody reads, and one that is cancelled before it is read, give their places back', async () => {
  const { service, call, open } = await start()
  const seller = await newSeller(call)
  const headers = { authorization: `Bearer ${seller.token}`, accept: 'text/event-stream' }
  for (let n = 0; n < 60; n++) {
    const { status, body } = await service.fetch(new Request(`${service.baseUrl}/v4/events`, { headers }))
    expect(status).toBe(200)
    await body?.cancel()
  }
  expect((await open(seller.token)).answer.status).toBe(200)
})

/** An alarm that never rings, and says how many are set for a time. */
function countedAlarm() {
  const set: number[] = []
  const alarm = {
    set(ms: number) {
      set.push(ms)
      return () => void (set.includes(ms) && set.splice(set.indexOf(ms), 1))
    },
  }
  return { alarm, setFor: (ms: number) => set.filter((each) => each === ms).length }
}

/** How long a stream watches what it has read, where no other process writes. */
const WATCHED_MS = 15_000

test('a stream watches nothing of what lies behind it, and nothing once its reader has left', async () => {
  const { alarm, setFor } = countedAlarm()
  const { service, storage, call } = await start({ alarm })
  const seller = await newSeller(call)
  await call('POST', '/v4/events', { token: seller.token, body: { type: 'client.done' } })
  const state = await storage.export()
  const last = state.rows.events?.at(-1)
  const copies = Array.from({ length: 1000 }, (_, n) => ({ ...last, id: Number(last?.id) + n + 1 }))
  await storage.import({ ...state, rows: { ...state.rows, events: [...(state.rows.events ?? []), ...copies] } })
  const headers = {
    authorization: `Bearer ${seller.token}`,
    accept: 'text/event-stream',
    'last-event-id': `${last?.id}`,
  }
  const answer = await service.fetch(new Request(`${service.baseUrl}/v4/events`, { headers }))
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
  let seen = 0
  while (seen < 1000) {
    const { value } = await reader.read()
    seen += new TextDecoder().decode(value).split('event: client.done').length - 1
  }
  const next = reader.read()
  await vi.waitFor(() => expect(setFor(WATCHED_MS)).toBe(1))
  await reader.cancel()
  expect((await next).done).toBe(true)
  expect(setFor(WATCHED_MS)).toBe(0)
})

test('an MCP message that fails gives back the place of what it was to watch', async () => {
  let left = 0
  const watch = async (): Promise<ChangeFeed> => (_tell, end) => () => {
    left++
    end()
  }
  const offer = { info: { name: 'a', version: '1' }, capabilities: () => ({}), handlers: {}, watch }
  // The SDK never sees it.
  const message = { url: 'no address', headers: new Headers(), body: { method: 'subscriptions/listen' } }
  const answered = answerMessage(() => offer, { ...message, ending: undefined }, { error() {} })
  await expect(answered).rejects.toThrow(TypeError)
  expect(left).toBe(1)
})
