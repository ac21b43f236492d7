import { afterEach, describe, expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemAlarm } from '../../src/base/ports.js'
import { type CardCharge, type Cards, type ChargeResult, createService, type Service } from '../../src/index.js'
import type { InvoiceRow } from '../../src/market/billing/invoice-row.js'
import { testProcessor } from '../../src/money/cards/test-values.js'
import type { Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { FAILING, Subscriber, VISA } from '../support/scenes/billing.js'
import { expectProblem } from '../support/scenes/market.js'
import { newSeller } from '../support/scenes/world.js'
import { useFileStorages } from '../support/storage/file-storages.js'

const BEGIN = Date.UTC(2031, 4, 1, 12)
const never = () => new Promise<never>(() => {})

/** A storage that outlives the services on it. */
const keptOpen = (storage: Storage): Storage => ({ ...storage, close: async () => {} })

type Answer = (charge: CardCharge, asked: number) => Promise<ChargeResult | undefined>

/** A processor that charges once for each id; `answer` says what it answers, or that it does so as it should. */
function processor(answer: Answer = async () => undefined) {
  const port = {
    /** What was charged, by id. */
    charged: new Map<string, CardCharge>(),
    asked: 0,
    answer,
  }
  const right = testProcessor({ alarm: systemAlarm })
  const cards: Cards = {
    ...right,
    async charge(order) {
      const result = await right.charge(order)
      if (result.status === 'succeeded') port.charged.set(order.id, order)
      return (await port.answer(order, ++port.asked)) ?? result
    },
  }
  return Object.assign(port, { cards })
}

const started: Service[] = []
afterEach(async () => {
  for (const service of started.splice(0)) await service.close()
})

async function open(storage: Storage, cards: Cards, { closes = true, cardMs = 20_000 } = {}) {
  const service = createService({ storage, sandbox: true, cards, log: { error: () => {} }, limits: { cardMs } })
  if (closes) started.push(service)
  await service.ready()
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const invoices = async () => ((await storage.export()).rows.invoices ?? []) as unknown as InvoiceRow[]
  return { service, call, invoices, statuses: async () => (await invoices()).map(({ status }) => status) }
}

/** A sandbox whose clock stands still, and an account with a card on file. */
async function prepared(storage: Storage, cards: Cards, options?: Parameters<typeof open>[2]) {
  const running = await open(storage, cards, options)
  await running.service.sandbox.setClock({ mode: 'manual' })
  await running.service.sandbox.setClock({ set: BEGIN })
  const account = new Subscriber(running.call, await newSeller(running.call))
  await account.ask('PUT', '/card', { payment_method_id: VISA })
  return { ...running, account }
}

/** Plan, status and invoices agree, and as many cards were charged as invoices are paid. */
async function expectWhole(
  { account, invoices }: { account: Subscriber; invoices: () => Promise<InvoiceRow[]> },
  { charged }: { charged: Map<string, CardCharge> },
  plan: string,
): Promise<void> {
  const rows = await invoices()
  expect(rows.filter(({ charge }) => charge !== null)).toEqual([])
  const paid = rows.filter(({ status }) => status === 'paid')
  expect([...charged.values()].map(({ amount }) => amount).sort()).toEqual(paid.map(({ total }) => total).sort())
  const numbers = rows.flatMap(({ number }) => (number === null ? [] : [number]))
  expect(numbers).toEqual(numbers.map((_, n) => n + 1))
  expect((await account.billing()).plan).toBe(plan)
}

describe('A processor', () => {
  test('that charges but fails to answer twice is asked again, and charges once', async () => {
    const port = processor(async (_, asked) => {
      if (asked <= 2) throw new Error('the line broke')
      return undefined
    })
    const running = await prepared(memoryStorage({ rerun: true }), port.cards)
    expectProblem(await running.account.choose('growth'), 502, 'processor_failed')
    expect((await running.account.billing()).plan).toBe('free')
    await running.service.sandbox.advance('1h')
    await expectWhole(running, port, 'growth')
    expect(port.asked).toBe(3)
  })

  test('that times out and then declines leaves the plan as it was', async () => {
    const port = processor(async (_, asked) => (asked === 1 ? never() : { status: 'declined', reason: 'no' }))
    const running = await prepared(memoryStorage(), port.cards, { cardMs: 30 })
    port.charged.set = () => port.charged
    expectProblem(await running.account.choose('growth'), 502, 'processor_failed')
    await running.service.sandbox.advance('1h')
    expect(await running.statuses()).toEqual(['void'])
    await expectWhole(running, port, 'free')
  })

  test('whose late answer arrives after the next try settled the charge changes nothing more', async () => {
    let late = (_: ChargeResult) => {}
    const port = processor((_, asked) =>
      asked === 1
        ? new Promise((resolve) => {
            late = resolve
          })
        : Promise.resolve(undefined),
    )
    const running = await prepared(memoryStorage(), port.cards, { cardMs: 30 })
    await running.account.choose('growth')
    await running.service.sandbox.advance('1h')
    late({ status: 'declined', reason: 'no' })
    await running.service.sandbox.advance('1h')
    await expectWhole(running, port, 'growth')
  })

  test('that never answers an upgrade has its invoice voided after days, and is not asked again', async () => {
    const port = processor(() => Promise.reject(new Error('no answer')))
    const running = await prepared(memoryStorage(), port.cards)
    expectProblem(await running.account.choose('growth'), 502, 'processor_failed')
    await running.service.sandbox.advance('5d')
    expect(await running.statuses()).toEqual(['void'])
    expect(await running.account.events()).toContain('invoice_voided')
    expect(await running.account.billing()).toMatchObject({ plan: 'free', unpaid_invoice_id: null })
    const { asked } = port
    await running.service.sandbox.advance('60d')
    expect([port.asked, port.charged.size]).toEqual([asked, 1])
  })

  test('that never answers a renewal has its invoice voided, and the plan continues', async () => {
    const port = processor()
    const running = await prepared(memoryStorage(), port.cards)
    await running.account.chosen('growth')
    port.answer = () => Promise.reject(new Error('no answer'))
    await running.service.sandbox.advance('36d')
    expect(await running.statuses()).toEqual(['paid', 'void'])
    expect(await running.account.billing()).toMatchObject({ plan: 'growth', status: 'active', unpaid_invoice_id: null })
    port.answer = async () => undefined
    await running.service.sandbox.advance('30d')
    expect(await running.statuses()).toEqual(['paid', 'void', 'paid'])
  })

  test('that is unavailable at the last try does not cancel the plan, but a later decline does', async () => {
    const port = processor()
    const running = await prepared(memoryStorage(), port.cards)
    await running.account.chosen('growth')
    const down = { status: 'unavailable' } as const
    port.cards.charge = async () => down
    await running.service.sandbox.advance('31d')
    await running.service.sandbox.advance('10d')
    expect(await running.account.billing()).toMatchObject({ plan: 'growth', status: 'past_due' })
    expect(await running.statuses()).toEqual(['paid', 'open'])
    port.cards.charge = async () => ({ status: 'declined', reason: 'no' })
    await running.service.sandbox.advance('1d')
    expect(await running.account.billing()).toMatchObject({ plan: 'free', status: 'cancelled' })
    expect(await running.statuses()).toEqual(['paid', 'uncollectible'])
  })

  test('that is unavailable for a whole month ends the plan at the end of the month', async () => {
    const port = processor()
    const running = await prepared(memoryStorage(), port.cards)
    await running.account.chosen('growth')
    port.cards.charge = async () => ({ status: 'unavailable' })
    await running.service.sandbox.advance('90d')
    expect(await running.account.billing()).toMatchObject({ plan: 'free', status: 'cancelled' })
    expect(await running.statuses()).toEqual(['paid', 'uncollectible'])
  })

  test('that answers an upgrade after the month ends has the next month billed by the new plan, from its own day', async () => {
    let holds = false
    const port = processor(async () => (holds ? Promise.reject(new Error('no answer')) : undefined))
    const running = await prepared(memoryStorage(), port.cards)
    await running.account.chosen('growth')
    await running.service.sandbox.setClock({ set: Date.UTC(2031, 4, 31, 12) })
    holds = true
    expectProblem(await running.account.choose('scale'), 502, 'processor_failed')
    await running.service.sandbox.setClock({ set: Date.UTC(2031, 5, 1, 14) })
    expect(await running.statuses()).toEqual(['paid', 'draft'])
    holds = false
    await running.service.sandbox.setClock({ set: Date.UTC(2031, 5, 2, 12) })
    const [, upgraded, renewed] = await running.invoices()
    expect([upgraded?.status, renewed?.status, renewed?.total]).toEqual(['paid', 'paid', '19900'])
    expect(renewed?.lines[0]?.period_start).toBe(Date.UTC(2031, 5, 1, 12))
    await expectWhole(running, port, 'scale')
  })
})

const files = useFileStorages()
const storages: Record<string, () => Promise<Storage>> = {
  memory: async () => memoryStorage(),
  'memory, every write run twice': async () => memoryStorage({ rerun: true }),
  file: () => files.open(),
}

describe.each(Object.entries(storages))('A process that is killed, on %s,', (_, opened) => {
  test('while it upgrades leaves the next process to charge once and grant the plan', async () => {
    const storage = keptOpen(await opened())
    const port = processor(never)
    const first = await prepared(storage, port.cards, { closes: false })
    void first.account.choose('growth')
    await vi.waitUntil(() => port.asked === 1)
    port.answer = async () => undefined
    const second = await open(storage, port.cards)
    const account = new Subscriber(second.call, first.account.seller)
    await second.service.sandbox.advance('1h')
    await expectWhole({ ...second, account }, port, 'growth')
    expect(port.charged.size).toBe(1)
  })

  test('while it renews leaves the next process to charge once', async () => {
    const storage = keptOpen(await opened())
    const port = processor()
    const first = await prepared(storage, port.cards, { closes: false })
    await first.account.chosen('growth')
    port.answer = never
    // The process ends while this runs.
    first.service.sandbox.advance('31d').catch(() => {})
    await vi.waitUntil(() => port.asked === 2)
    port.answer = async () => undefined
    const second = await open(storage, port.cards)
    const account = new Subscriber(second.call, first.account.seller)
    await second.service.sandbox.setClock({ set: BEGIN + 32 * 86_400_000 })
    await expectWhole({ ...second, account }, port, 'growth')
    expect(await second.statuses()).toEqual(['paid', 'paid'])
  })
})

/** A storage whose nth write from now is undone. */
function breaking() {
  const inner = memoryStorage()
  const storage: Storage & { left: number } = {
    ...inner,
    left: 0,
    write: (body) =>
      storage.left > 0 && --storage.left === 0
        ? inner.write((tx) => body(tx).then(() => Promise.reject(new Error('the disk is full'))))
        : inner.write(body),
  }
  return storage
}

const FAULTS = [1, 2, 3, 4]

describe('A storage that fails once', () => {
  test.each(FAULTS)('at write %i of an upgrade leaves either a paid plan or no new plan', async (n) => {
    const storage = breaking()
    const port = processor()
    const running = await prepared(storage, port.cards)
    storage.left = n
    const { status } = await running.account.choose('growth')
    storage.left = 0
    await running.service.sandbox.advance('1h')
    const { plan } = await running.account.billing()
    await expectWhole(running, port, plan)
    expect(plan).toBe(port.charged.size === 1 ? 'growth' : 'free')
    if (status === 200) expect(plan).toBe('growth')
    await running.account.chosen('growth')
    expect(port.charged.size).toBe(1)
  })

  test.each(FAULTS)('at write %i of a payment with an idempotency key charges once', async (n) => {
    const storage = breaking()
    const port = processor()
    const running = await prepared(storage, port.cards)
    const { account } = running
    await account.chosen('growth')
    await account.ask('PUT', '/card', { payment_method_id: FAILING })
    await running.service.sandbox.advance('31d')
    const { unpaid_invoice_id: id } = await account.billing()
    const pay = () => account.pay(id, { payment_method_id: VISA }, { 'idempotency-key': 'once' })
    storage.left = n
    await pay()
    storage.left = 0
    await running.service.sandbox.advance('6m')
    const again = await pay()
    expect([200, 502]).toContain(again.status)
    await expectWhole(running, port, 'growth')
    expect([await running.statuses(), port.charged.size]).toEqual([['paid', 'paid'], 2])
  })

  test.each([1, 2, 3, 4, 5, 6])('at write %i of a renewal bills the month once', async (n) => {
    const storage = breaking()
    const port = processor()
    const running = await prepared(storage, port.cards)
    await running.account.chosen('growth')
    storage.left = n
    await running.service.sandbox.advance('32d').catch(() => {})
    storage.left = 0
    await running.service.sandbox.setClock({ set: BEGIN + 33 * 86_400_000 })
    await expectWhole(running, port, 'growth')
    expect(await running.statuses()).toEqual(['paid', 'paid'])
  })
})

test('twenty simultaneous upgrades make one charge', async () => {
  const port = processor()
  const running = await prepared(memoryStorage(), port.cards)
  const answers = await Promise.all(Array.from({ length: 20 }, () => running.account.choose('growth')))
  for (const answer of answers) if (answer.status !== 200) expectProblem(answer, 409, 'charge_pending')
  await expectWhole(running, port, 'growth')
  expect(port.charged.size).toBe(1)
})

test('twenty payments at the same time as an automatic try charge once', async () => {
  const port = processor()
  const running = await prepared(memoryStorage(), port.cards)
  const { account, service } = running
  await account.chosen('growth')
  await account.ask('PUT', '/card', { payment_method_id: FAILING })
  await service.sandbox.advance('31d')
  await account.ask('PUT', '/card', { payment_method_id: VISA })
  const { unpaid_invoice_id: id } = await account.billing()
  const all = await Promise.all([service.sandbox.advance('1d'), ...Array.from({ length: 20 }, () => account.pay(id))])
  expect(all).toHaveLength(21)
  await service.sandbox.advance('1h')
  await expectWhole(running, port, 'growth')
  expect(port.charged.size).toBe(2)
})

test('the price of a plan change at the very end of a month is waived when it is too small for a card', async () => {
  const port = processor()
  const running = await prepared(memoryStorage(), port.cards)
  await running.account.chosen('growth')
  await running.service.sandbox.setClock({ set: Date.UTC(2031, 5, 1, 11, 59) })
  await running.account.chosen('scale')
  const [, waived] = await running.invoices()
  expect(waived).toMatchObject({ status: 'paid', number: 2, total: '0', charge_id: null })
  expect(waived?.lines.reduce((sum, { amount }) => sum + BigInt(amount), 0n)).toBe(0n)
  expect(port.charged.size).toBe(1)
})

test('a declined payment does not bring the next automatic try forward, even after an unavailable processor postponed it', async () => {
  const port = processor()
  const running = await prepared(memoryStorage(), port.cards)
  const { account, service } = running
  await account.chosen('growth')
  port.cards.charge = async () => ({ status: 'unavailable' })
  await service.sandbox.advance('41d')
  const [, { next_try_at }] = (await account.invoices()) as [any, any]
  port.cards.charge = async () => ({ status: 'declined', reason: 'no' })
  const { unpaid_invoice_id: id } = await account.billing()
  expectProblem(await account.pay(id), 402, 'card_declined')
  await service.sandbox.advance('1m')
  expect((await account.invoices())[1]).toMatchObject({ status: 'open', next_try_at })
  await service.sandbox.setClock({ set: next_try_at * 1000 })
  expect(await running.statuses()).toEqual(['paid', 'uncollectible'])
})

test("a try that falls due during the account's own payment runs after that payment", async () => {
  let release = (_: ChargeResult) => {}
  const port = processor()
  const running = await prepared(memoryStorage(), port.cards)
  const { account, service } = running
  await account.chosen('growth')
  port.cards.charge = async () => ({ status: 'declined', reason: 'no' })
  await service.sandbox.advance('31d')
  const [, { next_try_at }] = (await account.invoices()) as [any, any]
  const { unpaid_invoice_id: id } = await account.billing()
  await service.sandbox.setClock({ set: next_try_at * 1000 - 5_000 })
  await account.billing()
  let asked = 0
  port.cards.charge = () => {
    asked++
    return new Promise((resolve) => {
      release = resolve
    })
  }
  const paying = account.pay(id)
  await vi.waitUntil(() => asked === 1)
  await service.sandbox.setClock({ set: next_try_at * 1000 })
  expect(asked).toBe(1)
  port.cards.charge = async () => ({ status: 'declined', reason: 'no' })
  release({ status: 'declined', reason: 'no' })
  expectProblem(await paying, 402, 'card_declined')
  await service.sandbox.advance('1m')
  expect((await running.invoices())[1]).toMatchObject({ status: 'open', failures: 2 })
})
