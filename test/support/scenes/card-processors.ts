import { memoryStorage } from '../../../adapters/storage/memory.js'
import type { OutboxRow } from '../../../src/base/message.js'
import {
  type Alarm,
  type CardCharge,
  type ChargeResult,
  createService,
  type ServiceOptions,
} from '../../../src/index.js'
import type { PaymentRow } from '../../../src/payments/payments/payment.js'
import type { Storage } from '../../../src/storage/storage.js'
import { caller } from '../api.js'
import { balanceOf, newPayer, newSeller, type Payer } from './world.js'

/** A storage that outlives the services on it. */
export const keptOpen = (storage: Storage): Storage => ({ ...storage, close: async () => {} })

/** A processor that charges once for each id, and counts; `answer` may break off, or take its time, once it has charged. */
export function countingCards(answer: (charge: CardCharge, asked: number) => Promise<void> = async () => {}) {
  const charged = new Map<string, ChargeResult>()
  const asked: CardCharge[] = []
  return {
    charged,
    asked,
    async charge(charge: CardCharge): Promise<ChargeResult> {
      asked.push(charge)
      if (!charged.has(charge.id)) charged.set(charge.id, { status: 'succeeded', charge_id: `ch_${charged.size + 1}` })
      await answer(charge, asked.length)
      return charged.get(charge.id) as ChargeResult
    },
    refund: never,
    save: never,
  }
}

export async function started(options: ServiceOptions) {
  const storage = options.storage ?? memoryStorage()
  const errors: string[] = []
  const log = { error: (message: string) => void errors.push(message) }
  const service = createService({ log, ...options, storage })
  await service.ready()
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const rowsOf = async (name: string) => ((await storage.export()).rows[name] ?? []) as never[]
  return {
    service,
    storage,
    errors,
    call,
    topUp: ({ token, hostname }: Payer, payment_method_id = 'pm_1') =>
      call('POST', `/v4/twin/${hostname}/topup`, { token, body: { amount: 5, payment_method_id } }),
    charges: async () => ((await rowsOf('outbox')) as OutboxRow[]).filter(({ kind }) => kind === 'card'),
    payments: async () => (await rowsOf('payments')) as PaymentRow[],
  }
}

/** A sandbox whose clock stands still, and a payer. */
export async function prepared(options: ServiceOptions) {
  const sandbox = await started({ sandbox: true, ...options })
  await sandbox.service.sandbox.setClock({ mode: 'manual' })
  const payer = await newPayer(sandbox.call, await newSeller(sandbox.call))
  return { ...sandbox, payer, held: () => balanceOf(sandbox.call, payer.token, payer.hostname) }
}

/** Rings when it is told to. */
export function handAlarm() {
  const rings: { ms: number; ring: () => void }[] = []
  const alarm: Alarm = {
    set(ms, ring) {
      const waiting = { ms, ring }
      rings.push(waiting)
      return () => void rings.splice(rings.indexOf(waiting), rings.includes(waiting) ? 1 : 0)
    },
  }
  return { alarm, rings, ring: (ms: number) => rings.find((each) => each.ms === ms)?.ring() }
}

export const never = () => new Promise<never>(() => {})

export const chargeOf = (id: string, payment_method_id: string): CardCharge => ({
  ...{ id, payment_method_id, on_file: false },
  ...{ amount: '500', decimals: 2, currency: 'USD', description: 'A test' },
})
