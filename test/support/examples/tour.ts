import { AsyncLocalStorage } from 'node:async_hooks'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { routeList } from '../../../scripts/route-table.js'
import { systemAlarm } from '../../../src/base/ports.js'
import type { Example } from '../../../src/http/openapi/document.js'
import { createService, type ServiceOptions } from '../../../src/index.js'
import { testProcessor } from '../../../src/money/cards/test-values.js'
import { type Answer, type Call, caller } from '../api.js'
import { type Item, newItem } from '../scenes/catalog.js'
import { newCommodity, newReader, newSeller, type Payer, type Seller } from '../scenes/world.js'
import { itemCalls, x402 } from './paying.js'
import { agents, devices, openid, personas, sessions, transfers, webhooks } from './people.js'
import { Recorder } from './recorder.js'
import { billing, carts, catalog, checkout, controls, money } from './selling.js'

/** What the chapters of the tour share. */
export interface Tour {
  readonly url: string
  readonly seller: Seller
  /** A reader who holds ten. */
  readonly ada: Payer
  readonly article: Awaited<ReturnType<typeof newCommodity>>
  readonly item: Item
  readonly dq: string
  /** How the services answer that fulfil what was bought. */
  readonly upstream: { status: number }
  /** Reads until the answer is as wanted. */
  until(path: string, token: string, isWanted: (body: Answer['body']) => boolean): Promise<Answer['body']>
  /** Makes a request for approval: its id. */
  approve: () => Promise<string>
}

export const STARTED = Date.UTC(2031, 4, 1, 12)

/** Bytes that look random and are the same on every run (xorshift32). */
function repeatableBytes(seed: number): (count: number) => Uint8Array<ArrayBuffer> {
  let state = Math.imul(seed, 0x9e3779b1) || 1
  return (count) =>
    Uint8Array.from({ length: count }, () => {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      return state & 0xff
    })
}

/** What a call of a tour depends on beside its request. */
export interface Turn {
  /** Where its random numbers begin. Undefined: the call only waits for work in the background. */
  readonly seed: number | undefined
  /** What the services answer that fulfil what was bought. */
  readonly upstreamStatus: number
}

/** Sends a request of a tour, and may look at it and at its answer. */
export type Pass = (request: Request, fetch: (request: Request) => Promise<Response>, turn: Turn) => Promise<Response>

/** How a test watches the service of a tour. */
export interface WatchOptions extends Pick<ServiceOptions, 'log' | 'tracer' | 'storage'> {
  /** Gets what the service draws at random. */
  readonly onBytes?: (bytes: Uint8Array) => void
}

/** A service whose time and random numbers repeat. */
export function repeatableService({ onBytes, ...options }: WatchOptions = {}) {
  // Each call has its own, so that work in the background moves nobody's.
  const ofCall = new AsyncLocalStorage<ReturnType<typeof repeatableBytes>>()
  const ofNone = repeatableBytes(0)
  const upstream = { status: 200 }
  const watched = (bytes: Uint8Array<ArrayBuffer>) => {
    onBytes?.(bytes)
    return bytes
  }
  const service = createService({
    storage: memoryStorage(),
    clock: { now: () => STARTED },
    random: { bytes: (count) => watched((ofCall.getStore() ?? ofNone)(count)) },
    upstream: { fetch: async () => Response.json({ forecast: 'Sun.' }, { status: upstream.status }) },
    cards: {
      ...testProcessor({ alarm: systemAlarm }),
      refund: async () => ({ status: 'refused', reason: 'too long ago' }),
    },
    log: { error() {} },
    sandbox: true,
    ...options,
  })
  const send = (request: Request, { seed, upstreamStatus }: Turn): Promise<Response> => {
    upstream.status = upstreamStatus
    return seed === undefined ? service.fetch(request) : ofCall.run(repeatableBytes(seed), () => service.fetch(request))
  }
  const close = async () => {
    await service.close()
    // Before Node 24, one that was used makes each promise of its process slower until it is disabled.
    ofCall.disable()
  }
  return { service, upstream, send, close }
}

/** Calls a repeatable service. Each call passes `pass`. */
export async function onTour(
  pass: Pass,
  steps: (call: Call, quiet: Call, given: Pick<Tour, 'url' | 'upstream'>) => Promise<void>,
  options: WatchOptions = {},
): Promise<void> {
  const { service, upstream, send, close } = repeatableService(options)
  const url = service.baseUrl
  const calling = (seed: number | undefined) =>
    caller({
      url,
      fetch: (request) => {
        const turn = { seed, upstreamStatus: upstream.status }
        return pass(request, (passed) => send(passed, turn), turn)
      },
    })
  let calls = 0
  try {
    await steps((...sent) => calling(++calls)(...sent), calling(undefined), { url, upstream })
  } finally {
    await close()
  }
}

/** Calls every operation that has fields, with success. Returns an example of each. */
export async function recordedExamples(): Promise<Record<string, Example>> {
  const recorder = new Recorder()
  await takeTour((request, fetch) => recorder.pass(request, fetch))
  return recorder.examples(routeList)
}

export async function takeTour(pass: Pass, options: WatchOptions = {}): Promise<void> {
  async function steps(call: Call, quiet: Call, { url, upstream }: Pick<Tour, 'url' | 'upstream'>): Promise<void> {
    /** Asks as often as it takes, so these calls must not count. */
    async function until(
      path: string,
      token: string,
      isWanted: (body: Answer['body']) => boolean,
    ): Promise<Answer['body']> {
      for (let tries = 0; tries < 500; tries++) {
        const { body } = await quiet('GET', path, { token })
        if (isWanted(body)) return body
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      throw new Error(`${path} never answered what was awaited.`)
    }
    // The first call, so that its counts do not depend on the tour.
    await call('GET', '/_sandbox/coverage')
    await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    const seller = await newSeller(call)
    const ada = await newReader(call, seller, { email: 'maria@example.test', balance: 10 })
    const article = await newCommodity(call, seller)
    await call('POST', '/_sandbox/fund', { body: { hostname: article.hostname, amount: 5, dq: article.dq } })
    const fields = { descriptor: 'WEATHER', dq: article.dq, twin_id: article.twinId, featured: true, price: 0.5 }
    const item = await newItem(call, seller, fields)
    const approve = () => Promise.reject(new Error('Nobody asks yet.'))
    const tour: Tour = { url, seller, ada, article, item, dq: article.dq, upstream, until, approve }
    const chapters = [
      ...[
        money,
        catalog,
        carts,
        checkout,
        personas,
        transfers,
        sessions,
        devices,
        agents,
        openid,
        controls,
        webhooks,
        x402,
        itemCalls,
      ],
      // Weeks go by in it: it is the last.
      billing,
    ]
    for (const chapter of chapters) await chapter(call, tour)
    await call('GET', '/_sandbox/credentials')
    await call('GET', '/_sandbox/rows')
    await call('GET', '/_sandbox/rows/commodities?limit=1')
    await call('GET', '/_sandbox/clock/next')
    await call('POST', '/_sandbox/act-as', { body: { principal: 'user:1' } })
    await call('PUT', `/_sandbox/commodities/${article.hash}`, { body: { descriptor: 'NEWS.ARTICLE', cost: 0.3 } })
    // It ends all that the tour has made.
    await call('POST', '/_sandbox/reset', { body: { clear_journal: true } })
  }
  await onTour(pass, steps, options)
}
