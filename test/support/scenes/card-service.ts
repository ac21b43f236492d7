import { afterEach } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { systemAlarm } from '../../../src/base/ports.js'
import { type Alarm, type Cards, createService, type Service, type ServiceOptions } from '../../../src/index.js'
import { testProcessor } from '../../../src/money/cards/test-values.js'
import type { Storage } from '../../../src/storage/storage.js'
import { type Call, caller } from '../api.js'

/** A service in process with a stopped clock. The test plays its card processor and its upstream service. */

export interface CardService {
  readonly service: Service
  readonly call: Call
  /** The id of every charge that the processor received. */
  readonly asked: string[]
  /** The id of every refund that the processor received. */
  readonly refunds: string[]
  readonly logged: string[]
}

export interface Played extends Omit<ServiceOptions, 'storage' | 'cards'> {
  readonly storage?: Storage
  readonly charge?: Cards['charge']
  readonly refund?: Cards['refund']
  readonly save?: Cards['save']
}

const started: Service[] = []

afterEach(async () => {
  for (const service of started.splice(0)) await service.close()
})

/** It is closed after the test. */
export async function cardService({ charge, refund, save, ...options }: Played = {}): Promise<CardService> {
  const known = testProcessor({ alarm: systemAlarm })
  const [asked, refunds, logged]: string[][] = [[], [], []]
  const cards: Cards = {
    ...known,
    ...(save && { save }),
    charge(order) {
      asked?.push(order.id)
      return (charge ?? known.charge)(order)
    },
    refund(order) {
      refunds?.push(order.id)
      return (refund ?? known.refund)(order)
    },
  }
  const service = createService({
    storage: memoryStorage(),
    sandbox: true,
    upstream: { fetch: async () => new Response('The story.') },
    log: { error: (message) => void logged?.push(message) },
    ...options,
    cards,
  })
  started.push(service)
  await service.sandbox.setClock({ mode: 'manual' })
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  return { service, call, asked: asked ?? [], refunds: refunds ?? [], logged: logged ?? [] }
}

/** A storage that outlives the services on it, which are alone with it or not. */
export const sharedStorage = (exclusive: boolean): Storage => ({
  ...memoryStorage(),
  exclusive,
  close: async () => {},
})

/** An alarm that rings a hundred times sooner. */
export const fastAlarm: Alarm = { set: (ms, ring) => systemAlarm.set(ms / 100, ring) }

/** Something that a test lets happen. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
