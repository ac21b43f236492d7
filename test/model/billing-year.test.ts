import { afterAll, describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { once } from '../../src/base/memo.js'
import { type CardCharge, type Cards, createService, type Service } from '../../src/index.js'
import type { InvoiceRow } from '../../src/market/billing/invoice-row.js'
import { caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { mailedSubjects, Subscriber } from '../support/scenes/billing.js'
import { DAY } from '../support/scenes/transfers.js'
import { newSeller } from '../support/scenes/world.js'

const BEGIN = Date.UTC(2031, 0, 31, 9, 30)
const EMAIL = 'books@example.test'

/** A processor whose cards are good until they are said to be declined. */
function cardsOfAYear() {
  const declined = new Set<string>()
  const charged: CardCharge[] = []
  const cards: Cards = {
    save: async ({ payment_method_id }) => ({
      status: 'saved',
      payment_method_id,
      card: { brand: 'visa', last4: payment_method_id.slice(-4), exp_month: 12, exp_year: 2050 },
    }),
    async charge(order) {
      if (declined.has(order.payment_method_id)) return { status: 'declined', reason: 'insufficient funds' }
      charged.push(order)
      return { status: 'succeeded', charge_id: `ch_${charged.length}` }
    },
    refund: () => Promise.reject(new Error('nothing is refunded')),
  }
  return { cards, charged, declined }
}

const services: Service[] = []
afterAll(async () => {
  for (const service of services.splice(0)) await service.close()
})

/** `days`: how far the clock goes at a time; without, it goes all the way in one leap. */
async function year(days?: number) {
  const storage = memoryStorage()
  const { cards, charged, declined } = cardsOfAYear()
  const service = createService({ storage, sandbox: true, cards, limits: { outboxDays: 400 } })
  services.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  await service.sandbox.setClock({ mode: 'manual' })
  await service.sandbox.setClock({ set: BEGIN })
  const account = new Subscriber(call, await newSeller(call))
  let now = BEGIN
  const until = async (day: string) => {
    const end = Date.parse(`${day}T09:30:00Z`)
    while (now < end) {
      now = days === undefined ? end : Math.min(now + days * DAY, end)
      await service.sandbox.setClock({ set: now })
    }
  }
  const invoices = async () => ((await storage.export()).rows.invoices ?? []) as unknown as InvoiceRow[]
  await account.ask('PUT', '/profile', { billing_email: EMAIL, tax_number: 'DE123456789' })
  return { storage, call, account, until, invoices, charged, declined }
}

/** What an account sees in a year: an upgrade, a decline that it recovers from, a downgrade, and one that it does not. */
async function lived(days?: number) {
  const running = await year(days)
  const { account, until, declined } = running
  await account.chosen('growth', 'pm_1111')
  await until('2031-02-14')
  await account.chosen('scale')
  await until('2031-03-20')
  declined.add('pm_1111')
  await until('2031-04-04')
  const [owed] = (await account.invoices()).slice(-1)
  expect(owed).toMatchObject({ status: 'open', total: 199 })
  expect((await account.billing()).status).toBe('past_due')
  await account.ask('PUT', '/card', { payment_method_id: 'pm_2222' })
  await account.ask('PUT', '/profile', { tax_number: null })
  await until('2031-06-15')
  expect(await account.billing()).toMatchObject({ plan: 'scale', status: 'active' })
  await account.chosen('growth')
  await until('2031-08-10')
  declined.add('pm_2222')
  await until('2031-12-31')
  expect(await account.billing()).toMatchObject({ plan: 'free', status: 'cancelled', next_invoice: null })
  return running
}

/** A year that went by in leaps, which several tests look at. */
const livedOnce = once(() => lived())

const dayOf = (ms: number | null) => ms && new Date(ms).toISOString().slice(0, 10)

const shown = ({ number, status, total, issued_at, paid_at, card, lines }: InvoiceRow) => ({
  number,
  status,
  total,
  issued: dayOf(issued_at),
  paid: dayOf(paid_at),
  card: card?.last4,
  from: dayOf(lines[0]?.period_start ?? null),
  to: dayOf(lines[0]?.period_end ?? null),
})

const bill = (number: number, total: string, [from, to]: [string, string], more: object = {}) => ({
  number,
  status: 'paid',
  total,
  issued: from,
  paid: from,
  card: '1111',
  from,
  to,
  ...more,
})

describe('A year of a subscription', () => {
  test('bills each month once, by the plan of that month, on the day of the month on which the first one began', async () => {
    const { invoices, account, call, charged } = await livedOnce()
    const other = { card: '2222' }
    expect((await invoices()).map(shown)).toEqual([
      bill(1, '2900', ['2031-01-31', '2031-02-28']),
      bill(2, '8500', ['2031-02-14', '2031-02-28']),
      bill(3, '19900', ['2031-02-28', '2031-03-31']),
      // Declined on 31 March, 1 and 3 April; paid by the card that was put on file before the last try.
      bill(4, '19900', ['2031-03-31', '2031-04-30'], { ...other, paid: '2031-04-07' }),
      bill(5, '19900', ['2031-04-30', '2031-05-31'], other),
      bill(6, '19900', ['2031-05-31', '2031-06-30'], other),
      bill(7, '2900', ['2031-06-30', '2031-07-31'], other),
      bill(8, '2900', ['2031-07-31', '2031-08-31'], other),
      bill(9, '2900', ['2031-08-31', '2031-09-30'], { status: 'uncollectible', paid: null, card: undefined }),
    ])
    for (const { lines, total } of await invoices())
      expect(String(lines.reduce((sum, { amount }) => sum + BigInt(amount), 0n))).toBe(total)
    const paid = (await invoices()).filter(({ status }) => status === 'paid')
    expect(charged.map(({ amount }) => amount).sort()).toEqual(paid.map(({ total }) => total).sort())
    expect(new Set(charged.map(({ id }) => id)).size).toBe(8)
    const number = (n: number) => `${account.seller.id}-000${n}`
    const failed = (n: number) => Array(2).fill(`Payment of invoice ${number(n)} failed`)
    const receipt = (n: number) => `Receipt for invoice ${number(n)}`
    expect(await mailedSubjects(call, EMAIL)).toEqual([
      ...[1, 2, 3].map(receipt),
      ...failed(4),
      `Last try for invoice ${number(4)}`,
      ...[4, 5, 6, 7, 8].map(receipt),
      ...failed(9),
      `Last try for invoice ${number(9)}`,
      'Your Growth plan is cancelled',
    ])
  })

  test('keeps on each invoice the customer details from when it was issued', async () => {
    const { invoices } = await livedOnce()
    const taxed = (await invoices()).map(({ profile }) => profile.tax_number)
    expect(taxed).toEqual([...Array(4).fill('DE123456789'), ...Array(5).fill(null)])
  })

  test.each(howMuch([9], [1, 9, 40]))('is the same when the clock goes %i days at a time', async (days) => {
    const told = async ({ storage }: { storage: ReturnType<typeof memoryStorage> }) => {
      const { rows } = await storage.export()
      const events = (rows.events ?? []).filter((event) => (event as any).type.startsWith('billing.'))
      const plain = (rows: readonly object[] | undefined) =>
        JSON.parse(JSON.stringify(rows ?? []).replaceAll(/"(\w+)_[0-9a-f]{32}"/g, '"$1"'))
      return { invoices: plain(rows.invoices), events: plain(events).map(({ id: _, ...event }: any) => event) }
    }
    expect(await told(await lived(days))).toEqual(await told(await livedOnce()))
  })

  test('bills twelve months when the clock leaps over the whole year', async () => {
    const { account, until, invoices } = await year()
    await account.chosen('growth', 'pm_1111')
    await until('2032-01-30')
    const all = await invoices()
    expect(all.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(new Set(all.map(({ status, total }) => `${status} ${total}`))).toEqual(new Set(['paid 2900']))
    await until('2032-01-31')
    expect(await invoices()).toHaveLength(13)
  })

  test('starts on a new day after a cancellation, and no old timer bills again', async () => {
    const { account, until, invoices, declined } = await year()
    await account.chosen('growth', 'pm_1111')
    declined.add('pm_1111')
    await until('2031-03-10')
    expect((await account.billing()).status).toBe('cancelled')
    await account.chosen('growth', 'pm_2222')
    await until('2031-04-09')
    expect((await invoices()).map(shown)).toMatchObject([
      { status: 'paid', from: '2031-01-31' },
      { status: 'uncollectible', from: '2031-02-28' },
      { status: 'paid', from: '2031-03-10', to: '2031-04-10' },
    ])
    await until('2031-04-11')
    expect((await invoices()).map(({ number }) => number)).toEqual([1, 2, 3, 4])
  })
})
