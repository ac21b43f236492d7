import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { systemAlarm } from '../../../src/base/ports.js'
import { type Cards, createService } from '../../../src/index.js'
import { testProcessor } from '../../../src/money/cards/test-values.js'
import { caller } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { chargesOf, FAILING, mailedSubjects, newSubscriber, Subscriber, VISA } from '../../support/scenes/billing.js'
import { advance, expectProblem, readPages } from '../../support/scenes/market.js'
import { newSeller } from '../../support/scenes/world.js'

/** An account whose second month is not paid: its card is put on file, and then declined. */
async function pastDue(start: Start, options?: Parameters<Start>[0]) {
  const running = await newSubscriber(start, options)
  const { account, call } = running
  await account.ask('PUT', '/profile', { billing_email: 'books@example.test' })
  await account.chosen('growth', VISA)
  await account.ask('PUT', '/card', { payment_method_id: FAILING })
  await advance(call, '28d')
  const [, owed] = await account.invoices()
  return { ...running, owed }
}

contract('readInvoice', (start) => {
  test('GET /v4/billing/invoices/{id} shows its lines, which add up, and its recipient', {
    tags: 'everywhere',
  }, async () => {
    const { account, at } = await newSubscriber(start)
    await account.ask('PUT', '/profile', { business_name: 'Example & Co' })
    await account.chosen('growth', VISA)
    const [{ id }] = await account.invoices()
    const now = at / 1000
    const { status, body } = await account.ask('GET', `/invoices/${id}`)
    expect(status).toBe(200)
    expect(body).toEqual({
      id,
      number: `${account.seller.id}-0001`,
      status: 'paid',
      charging: false,
      reason: 'upgrade',
      plan: 'growth',
      currency: 'USD',
      lines: [{ description: 'Growth plan', amount: 29, period_start: now, period_end: now + 28 * 86_400 }],
      total: 29,
      profile: { business_name: 'Example & Co', business_address: null, billing_email: null, tax_number: null },
      card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2050 },
      next_try_at: null,
      created_at: now,
      issued_at: now,
      paid_at: now,
    })
  })

  test('its account can read it as a page and as PDF, and nobody else can', { tags: 'everywhere' }, async () => {
    const { account, call } = await newSubscriber(start)
    await account.ask('PUT', '/profile', { business_name: '<b>Example</b> & Co' })
    await account.chosen('growth', VISA)
    const [{ id, number }] = await account.invoices()
    const page = await account.ask('GET', `/invoices/${id}.html`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    for (const text of [`Invoice ${number}`, '&lt;b>Example&lt;/b> &amp; Co', '29.00 USD', 'Paid on 2031-01-31'])
      expect(page.text).toContain(text)
    const pdf = await account.ask('GET', `/invoices/${id}.pdf`)
    expect([pdf.status, pdf.headers.get('content-type')]).toEqual([200, 'application/pdf'])
    expect(pdf.headers.get('content-disposition')).toBe(`inline; filename="invoice-${number}.pdf"`)
    expect(pdf.text).toMatch(/^%PDF-1\.4\n/)
    const other = new Subscriber(call, await newSeller(call))
    for (const suffix of ['', '.html', '.pdf']) {
      expectProblem(await other.ask('GET', `/invoices/${id}${suffix}`), 404, 'not_found')
      expectProblem(await account.ask('GET', `/invoices/${id + 9}${suffix}`), 404, 'not_found')
    }
    expectProblem(await other.pay(id), 404, 'not_found')
    for (const [path, code] of [
      ['%ff', 'path_malformed'],
      ['x', 'not_found'],
    ] as const)
      for (const suffix of ['', '.html', '.pdf'])
        expectProblem(await account.ask('GET', `/invoices/${path}${suffix}`), code === 'not_found' ? 404 : 400, code)
  })
})

contract('listInvoices', (start) => {
  test('GET /v4/billing/invoices lists them newest first, in pages, under numbers without gaps', async () => {
    const { account, call } = await newSubscriber(start)
    await account.chosen('growth', VISA)
    await advance(call, '90d')
    await account.chosen('scale')
    const { token } = account.seller
    const pages = await readPages(call, '/v4/billing/invoices', { plural: 'invoices', token, limit: 2 })
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
    expect(pages.flat().map(({ number }) => number)).toEqual(
      [5, 4, 3, 2, 1].map((number) => `${account.seller.id}-000${number}`),
    )
    expectProblem(await account.ask('GET', '/invoices?after=99'), 400, 'cursor_invalid')
    expectProblem(await account.ask('GET', '/invoices?limit=0'), 400, 'field_invalid')
  })
})

contract('A renewal', (start) => {
  test('that is declined makes the plan past due, sends a mail, and is retried after 1, 3 and 7 days', async () => {
    const { account, call, owed } = await pastDue(start)
    expect(owed).toMatchObject({ status: 'open', reason: 'renewal', total: 29, paid_at: null })
    expect(await account.billing()).toMatchObject({ plan: 'growth', status: 'past_due', unpaid_invoice_id: owed.id })
    const tries = async () => (await chargesOf(call)).length
    const counts = [await tries()]
    for (const day of [1, 2, 4]) {
      await advance(call, `${day}d`)
      counts.push(await tries())
    }
    expect(counts).toEqual([2, 3, 4, 5])
    expect(await account.billing()).toMatchObject({ plan: 'free', status: 'cancelled', unpaid_invoice_id: null })
    expect((await account.invoices())[1].status).toBe('uncollectible')
    const { number } = owed
    expect(await mailedSubjects(call, 'books@example.test')).toEqual([
      `Receipt for invoice ${account.seller.id}-0001`,
      `Payment of invoice ${number} failed`,
      `Payment of invoice ${number} failed`,
      `Last try for invoice ${number}`,
      'Your Growth plan is cancelled',
    ])
    expect((await account.events()).slice(5)).toEqual([
      'invoice_issued',
      'payment_failed',
      'past_due',
      'payment_failed',
      'payment_failed',
      'payment_failed',
      'cancelled',
      'plan_changed',
    ])
  })
})

contract('payInvoice', (start) => {
  test('POST /v4/billing/invoices/{id}/pay charges the card on file, or a new one that replaces it', {
    tags: 'everywhere',
  }, async () => {
    const { account, owed } = await pastDue(start)
    expectProblem(await account.choose('scale', VISA), 409, 'invoice_unpaid')
    const declined = await account.pay(owed.id)
    expectProblem(declined, 402, 'card_declined')
    expect(declined.body).toMatchObject({ invoice_id: owed.id, reason: 'declined by the bank' })
    expectProblem(await account.pay(owed.id, { payment_method_id: 'pm_card_expired' }), 402, 'card_declined')
    // What the account tries itself puts off nothing.
    expect((await account.invoices())[1]).toMatchObject({ status: 'open', next_try_at: owed.next_try_at })
    const paid = await account.pay(owed.id, { payment_method_id: 'pm_card_mastercard' })
    expect(paid.status).toBe(200)
    expect(paid.body).toMatchObject({ id: owed.id, status: 'paid', card: { brand: 'mastercard' }, next_try_at: null })
    expect(await account.billing()).toMatchObject({ plan: 'growth', status: 'active', card: { brand: 'mastercard' } })
    const again = await account.pay(owed.id)
    expectProblem(again, 409, 'invoice_not_open')
    expect(again.body.invoice_status).toBe('paid')
  })

  test('is 502 if the processor takes too long, and the invoice stays open until it answers', async () => {
    const { account, owed } = await pastDue(start, { limits: { cardMs: 50 } })
    const unknown = await account.pay(owed.id, { payment_method_id: 'pm_processor_slow' })
    expectProblem(unknown, 502, 'processor_failed')
    expect(unknown.body).toMatchObject({ outcome: 'unknown', invoice_id: owed.id })
    expectProblem(await account.pay(owed.id), 409, 'charge_pending')
    expectProblem(await account.choose('scale', VISA), 409, 'charge_pending')
    expect((await account.invoices())[1]).toMatchObject({ status: 'open', charging: true })
  })

  test('charges once with an Idempotency-Key', async () => {
    const { account, call, owed } = await pastDue(start)
    const key = { 'idempotency-key': 'once' }
    const body = { payment_method_id: VISA }
    const first = await account.pay(owed.id, body, key)
    const again = await account.pay(owed.id, body, key)
    expect([first.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([200, first.text, 'true'])
    expectProblem(await account.pay(owed.id, {}, key), 422, 'idempotency_mismatch')
    expect(await chargesOf(call)).toHaveLength(3)
  })
})

describe('An Idempotency-Key of a payment', () => {
  const kept = memoryStorage()
  const opened = (cards: Cards, byte: string, storage = kept): Start => {
    const service = createService({ storage, sandbox: true, cards, encryptionKey: byte.repeat(32) })
    const { baseUrl: url, fetch } = service
    const running = { url, fetch, state: () => storage.export(), close: () => service.close() }
    return async () => ({ ...running, call: caller(running) })
  }

  test('is refused during the first call, with a different card, and if its answer cannot be decrypted', async () => {
    const cards = testProcessor({ alarm: systemAlarm })
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let holds = false
    const charge: Cards['charge'] = async (order) => {
      if (holds) await held
      return cards.charge(order)
    }
    const { account, owed } = await pastDue(opened({ ...cards, charge }, '11'))
    const { call } = await opened(cards, '22')()
    const other = new Subscriber(call, account.seller)
    const key = { 'idempotency-key': 'once' }
    holds = true
    const body = { payment_method_id: VISA }
    const first = account.pay(owed.id, body, key)
    await expect.poll(async () => (await account.invoices())[1].charging).toBe(true)
    expectProblem(await account.pay(owed.id, body, key), 409, 'idempotency_in_progress')
    // No other card is put on file meanwhile: it would be lost to the one that is charged.
    const mastercard = { payment_method_id: 'pm_card_mastercard' }
    expectProblem(await account.ask('PUT', '/card', mastercard), 409, 'charge_pending')
    expectProblem(await account.choose('growth', mastercard.payment_method_id), 409, 'charge_pending')
    release()
    expect((await first).status).toBe(200)
    expectProblem(await other.pay(owed.id, body, key), 409, 'idempotency_unreadable')
  })

  test('repeats the answer about a processor that was down, because the card may be charged', async () => {
    const cards = testProcessor({ alarm: systemAlarm })
    let isDown = false
    const charge: Cards['charge'] = async (order) => (isDown ? { status: 'unavailable' } : cards.charge(order))
    const { account, owed, close } = await pastDue(opened({ ...cards, charge }, '11', memoryStorage()))
    await account.ask('PUT', '/card', { payment_method_id: VISA })
    const key = { 'idempotency-key': 'once' }
    isDown = true
    const pay = () => account.pay(owed.id, {}, key)
    const first = await pay()
    isDown = false
    for (const [replayed, down] of [
      [null, first],
      ['true', await pay()],
    ] as const) {
      expectProblem(down, 502, 'processor_failed')
      expect([down.body.outcome, down.headers.get('idempotent-replayed')]).toEqual(['failed', replayed])
    }
    const paid = await account.pay(owed.id, {}, { 'idempotency-key': 'another' })
    expect(paid.body).toMatchObject({ status: 'paid' })
    await close()
  })
})
