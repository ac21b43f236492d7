import { describe, expect, test } from 'vitest'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { chargesOf, FAILING, mailedSubjects, newSubscriber, Subscriber, VISA } from '../../support/scenes/billing.js'
import { changeItem, newItem, postItem } from '../../support/scenes/catalog.js'
import { advance, expectProblem } from '../../support/scenes/market.js'
import { newSeller } from '../../support/scenes/world.js'

const SECOND = 1000
const dayOf = (seconds: number) => new Date(seconds * SECOND).toISOString().slice(0, 10)

contract('listPlans', (start) => {
  test('GET /v4/billing/plans lists the plans with prices and limits, to anybody', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const { status, body } = await call('GET', '/v4/billing/plans')
    expect(status).toBe(200)
    expect(body.plans).toEqual([
      plan('free', 'Free', 0, { active_items: 25, mcp_calls: 1_000 }),
      plan('growth', 'Growth', 29, { active_items: 500, mcp_calls: 50_000 }),
      plan('scale', 'Scale', 199, { active_items: null, mcp_calls: 1_000_000 }),
    ])
  })
})

const plan = (id: string, name: string, price: number, limits: object) => ({
  id,
  name,
  price,
  currency: 'USD',
  interval: 'month',
  limits,
})

contract('updatePlan', (start) => {
  test('an account starts on the free plan without a card', async () => {
    const { account } = await newSubscriber(start)
    expect(await account.billing()).toEqual({
      plan: 'free',
      status: 'active',
      card: null,
      current_period_end: null,
      next_plan: null,
      next_invoice: null,
      unpaid_invoice_id: null,
      usage: { active_items: { used: 0, limit: 25 }, mcp_calls: { used: 0, limit: 1000 } },
    })
  })

  test('the first paid plan bills a month, and stores the card on file', async () => {
    const { account, call } = await newSubscriber(start)
    expectProblem(await account.choose('growth'), 400, 'card_required')
    const chosen = await account.chosen('growth', VISA)
    expect(chosen).toMatchObject({ plan: 'growth', status: 'active', card: { brand: 'visa', last4: '4242' } })
    // 31 January has no like in February.
    expect(dayOf(chosen.current_period_end)).toBe('2031-02-28')
    expect(chosen.next_invoice).toEqual({ plan: 'growth', amount: 29, at: chosen.current_period_end })
    expect(await account.invoices()).toMatchObject([
      { number: `${account.seller.id}-0001`, status: 'paid', total: 29, plan: 'growth', charging: false },
    ])
    expect(await chargesOf(call)).toHaveLength(1)
    expect(await account.events()).toEqual(['invoice_issued', 'invoice_paid', 'plan_changed'])
  })

  test('an upgrade bills the rest of the month to the cent; a downgrade waits for the end of the month and can be undone', async () => {
    const { account, call } = await newSubscriber(start)
    const { current_period_end } = await account.chosen('growth', VISA)
    await advance(call, '14d')
    const upgraded = await account.chosen('scale')
    expect(upgraded).toMatchObject({ plan: 'scale', current_period_end })
    const [, second] = await account.invoices()
    expect(second.lines.map(({ amount }: any) => amount)).toEqual([99.5, -14.5])
    expect(second).toMatchObject({ status: 'paid', total: 85, reason: 'upgrade' })

    const waiting = await account.chosen('growth')
    expect(waiting).toMatchObject({ plan: 'scale', next_plan: 'growth', next_invoice: { plan: 'growth', amount: 29 } })
    expect(await account.chosen('scale')).toMatchObject({ next_plan: null, next_invoice: { amount: 199 } })
    expect(await account.chosen('free')).toMatchObject({ plan: 'scale', next_plan: 'free', next_invoice: null })
    await advance(call, '14d')
    expect(await account.billing()).toMatchObject({ plan: 'free', status: 'active', current_period_end: null })
    expect(await account.invoices()).toHaveLength(2)
  })

  test.each([
    ['pm_card_chargeDeclined', 'put on file'],
    [FAILING, 'charged'],
  ])('a card, %s, that is declined when it is %s is 402 and changes nothing', async (method) => {
    const { account } = await newSubscriber(start)
    const refused = await account.choose('growth', method)
    expectProblem(refused, 402, 'card_declined')
    expect(refused.body.reason).toBe('declined by the bank')
    expect(await account.billing()).toMatchObject({ plan: 'free', card: null, unpaid_invoice_id: null })
    await account.chosen('growth', VISA)
    // What was never issued took no number.
    const numbers = (await account.invoices()).map(({ number }) => number)
    expect(numbers.filter((number) => number !== null)).toEqual([`${account.seller.id}-0001`])
  })

  test('a processor that is down is 502; one that takes too long is 502, and then 409 until it answers', async () => {
    const { account } = await newSubscriber(start, { limits: { cardMs: 50 } })
    expectProblem(await account.choose('growth', 'pm_processor_down'), 502, 'processor_failed')
    expect(await account.invoices()).toEqual([])
    const unknown = await account.choose('growth', 'pm_processor_slow')
    expectProblem(unknown, 502, 'processor_failed')
    const { invoice_id } = unknown.body
    expect(unknown.body).toMatchObject({ outcome: 'unknown', error: expect.stringContaining(`invoices/${invoice_id}`) })
    expect(await account.billing()).toMatchObject({ plan: 'free', unpaid_invoice_id: invoice_id })
    expect(await account.invoices()).toMatchObject([{ id: invoice_id, status: 'draft', number: null, charging: true }])
    expectProblem(await account.choose('scale', VISA), 409, 'charge_pending')
    expectProblem(await account.ask('PUT', '/card', { payment_method_id: VISA }), 409, 'charge_pending')
    expectProblem(await account.pay(invoice_id), 409, 'charge_pending')
  })

  test('refuses card numbers, unknown plans and unknown payment methods', async () => {
    const { account, state } = await newSubscriber(start)
    const number = '4242424242424242'
    for (const [method, path] of [
      ['PUT', '/plan'],
      ['PUT', '/card'],
      ['PUT', '/profile'],
      ['POST', '/invoices/1/pay'],
    ] as const)
      expectProblem(
        await account.ask(method, path, { plan: 'growth', tax_number: number, payment_method_id: number }),
        400,
        'card_data_refused',
      )
    const told = { business_address: 'Way 12\n4242 4242 4242 4242, exp 12/50' }
    expectProblem(await account.ask('PUT', '/profile', told), 400, 'card_data_refused')
    expectProblem(
      await account.call('PUT', '/v4/account', {
        token: account.seller.token,
        body: { businessName: `Card: ${number}` },
      }),
      400,
      'card_data_refused',
    )
    expect(JSON.stringify(await state())).not.toMatch(/4242 ?4242/)
    expectProblem(await account.choose('enterprise'), 400, 'field_invalid')
    expectProblem(await account.choose('growth', 'pm\n1'), 400, 'field_invalid')
    expectProblem(await account.ask('PUT', '/card', {}), 400, 'field_invalid')
    expectProblem(await account.pay(1, { payment_method_id: 5 }), 400, 'field_invalid')
  })
})

contract('updateCard, deleteCard', (start) => {
  test('a card on file can be set, replaced and deleted, but not deleted during a paid plan', {
    tags: 'everywhere',
  }, async () => {
    const { account } = await newSubscriber(start)
    const put = (payment_method_id: string) => account.ask('PUT', '/card', { payment_method_id })
    expect((await put(VISA)).body.card).toMatchObject({ brand: 'visa', last4: '4242' })
    expect((await put('pm_card_mastercard')).body.card).toMatchObject({ brand: 'mastercard' })
    expectProblem(await put('pm_card_expired'), 402, 'card_declined')
    expectProblem(await put('pm_processor_down'), 502, 'processor_failed')
    expect((await account.billing()).card).toMatchObject({ brand: 'mastercard' })
    expect((await account.ask('DELETE', '/card')).body.card).toBeNull()
    expect((await account.ask('DELETE', '/card')).status).toBe(200)
    await account.chosen('growth', VISA)
    expectProblem(await account.ask('DELETE', '/card'), 409, 'card_in_use')
  })
})

contract('updateBillingProfile', (start) => {
  test('sets the recipient of future invoices, and leaves issued ones unchanged', {
    tags: 'everywhere',
  }, async () => {
    const { account, call } = await newSubscriber(start)
    const none = { business_name: null, business_address: null, billing_email: null, tax_number: null }
    expect((await account.ask('GET', '/profile')).body).toEqual(none)
    const profile = {
      business_name: 'Söhne & Co',
      business_address: 'Way 1\n10115 Berlin\n+49 30 123456-78',
      billing_email: 'books@example.test',
      // A SIRET: 14 digits that keep the rule of Luhn, as card numbers do.
      tax_number: '732 829 320 00074',
    }
    expect((await account.ask('PUT', '/profile', profile)).body).toEqual(profile)
    expect((await call('GET', '/v4/account', { token: account.seller.token })).body.businessName).toBe('Söhne & Co')
    await account.chosen('growth', VISA)
    const changed = (await account.ask('PUT', '/profile', { tax_number: null })).body
    expect(changed).toEqual({ ...profile, tax_number: null })
    expect((await account.ask('GET', '/profile')).body).toEqual(changed)
    expect((await account.invoices())[0].profile).toEqual(profile)
    expect(await mailedSubjects(call, 'books@example.test')).toEqual([`Receipt for invoice ${account.seller.id}-0001`])
    expectProblem(await account.ask('PUT', '/profile', { billing_email: 'nobody' }), 400, 'field_invalid')
  })
})

contract('The limit of active catalog items', (start) => {
  test('is 403 plan_limit_reached: archive one, deactivate one, or change the plan', async () => {
    const { account, call } = await newSubscriber(start)
    const { seller } = account
    const items = await Promise.all(Array.from({ length: 25 }, () => newItem(call, seller)))
    const refused = await postItem(call, seller, {})
    expectProblem(refused, 403, 'plan_limit_reached')
    expect(refused.body).toMatchObject({ of: 'active_items', plan: 'free', limit: 25, used: 25 })
    const idle = await newItem(call, seller, { active: false })
    expectProblem(await changeItem(call, seller, idle, { active: true }), 403, 'plan_limit_reached')
    const [first] = items as [(typeof items)[0]]
    expect((await changeItem(call, seller, first, { name: 'Another name' })).status).toBe(200)
    await changeItem(call, seller, first, { active: false })
    expect((await changeItem(call, seller, idle, { active: true })).status).toBe(200)
    await account.chosen('growth', VISA)
    expect((await changeItem(call, seller, first, { active: true })).status).toBe(200)
    expect((await account.billing()).usage.active_items).toEqual({ used: 26, limit: 500 })
  })
})

describe('A service without a card processor', () => {
  test('is 502 to a paid plan, and to a card', async () => {
    const service = createService()
    const call = caller({ url: service.baseUrl, fetch: service.fetch })
    const account = new Subscriber(call, await newSeller(call))
    expectProblem(await account.choose('growth', VISA), 502, 'processor_failed')
    expectProblem(await account.ask('PUT', '/card', { payment_method_id: VISA }), 502, 'processor_failed')
    await service.close()
  })
})
