import { expect, test } from 'vitest'
import type { Answer, Call, CallOptions } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { prepared as preparedWith, startWith } from '../../support/contract/prepared.js'
import {
  balancesOf,
  expectProblem,
  expectSoundLedger,
  fund,
  stopClock,
  UNKNOWN_DQ,
} from '../../support/scenes/market.js'
import {
  balanceOf,
  defaultDq,
  newPayer,
  newSeededUser,
  newSeller,
  newSession,
  newTwin,
  newUser,
  tokenFor,
} from '../../support/scenes/world.js'

const SEED = {
  digital_quantities: [{ name: 'Points', shortcode: 'PTS', shortdescription: 'Whole points.', decimals: 0 }],
}

const topUp = (call: Call, caller: CallOptions & { hostname: string }, body: object = {}): Promise<Answer> => {
  const { hostname, ...options } = caller
  const order = { amount: 5, payment_method_id: 'pm_card_visa', ...body }
  return call('POST', `/v4/twin/${hostname}/topup`, { ...options, body: order })
}

const topupsOf = async (call: Call, token: string): Promise<any[]> =>
  (await call('GET', '/v4/payments', { token })).body.payments.filter(({ kind }: { kind: string }) => kind === 'topup')

const eventsOf = async (call: Call, token: string, type: string): Promise<any[]> =>
  (await call('GET', `/v4/events?type=${type}`, { token })).body.events

const chargesOf = async (call: Call): Promise<any[]> => (await call('GET', '/_sandbox/outbox?kind=card')).body.messages

const sellerAndPayer = preparedWith(async (call) => {
  const seller = await newSeller(call)
  return { seller, payer: await newPayer(call, seller) }
})

contract('createTopup', (start) => {
  const prepared = (options?: Parameters<typeof start>[0]) => sellerAndPayer(start, undefined, options)

  test('POST /v4/twin/{hostname}/topup charges a card and issues the value', async () => {
    const { call, payer } = await prepared()
    const dq = await defaultDq(call)
    const { status, body } = await topUp(call, payer, { amount: 12.34 })
    expect(status).toBe(201)
    expect(body).toEqual({
      payment: {
        id: expect.any(Number),
        hash: null,
        descriptor: 'TOP-UP',
        dq,
        amount: 12.34,
        hostname: expect.stringMatching(/\.twin\.localhost$/),
        payee_hostname: payer.hostname,
        kind: 'topup',
        status: 'posted',
        created_at: expect.any(Number),
      },
      balances: { [dq]: 12.34 },
    })
    expect((await call('GET', `/v4/payments/${body.payment.id}`, { token: payer.token })).body).toEqual(body.payment)
    expect(await balancesOf(call, payer.token, payer.hostname)).toEqual(body.balances)
    const { digital_quantities } = await expectSoundLedger(call)
    expect(digital_quantities[0]).toEqual({ dq, issued: 12.34, balances: 12.34, held: 0 })
  })

  test('lets an account, a user and a session top up their own twins', async () => {
    const { call, seller, payer } = await prepared()
    const { hostname } = await newTwin(call, seller.token)
    const session = await newSession(call, payer.email)
    const callers = [{ ...payer }, { session, hostname: payer.hostname }, { token: seller.token, hostname }]
    for (const caller of callers) expect((await topUp(call, caller)).status).toBe(201)
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(10)
    expect(await balanceOf(call, seller.token, hostname)).toBe(5)
  })

  test('issues a named digital quantity, and charges cards whole units of it', async () => {
    const { call, payer } = await prepared({ seed: SEED })
    const { digital_quantities } = (await call('GET', '/v4/dq')).body
    const points = digital_quantities[1]
    const { body } = await topUp(call, payer, { dq: points, amount: 3, payment_method_id: 'pm_card_mastercard' })
    expect(body.payment).toMatchObject({ dq: points, amount: 3, status: 'posted' })
    expect(body.balances).toEqual({ [digital_quantities[0]]: 0, [points]: 3 })
    expectProblem(await topUp(call, payer, { dq: points, amount: 0.5 }), 400, 'amount_invalid')
  })

  test('shows the charge in the outbox, and sends the owner an event with the card', async () => {
    const { call, payer } = await prepared()
    const at = await stopClock(call)
    const token = await tokenFor(call, payer.clientId, payer.clientSecret)
    const { payment } = (await topUp(call, { token, hostname: payer.hostname }, { amount: 10000 })).body
    expect(await chargesOf(call)).toEqual([
      {
        id: expect.any(Number),
        kind: 'card',
        to: payer.email,
        subject: 'Charge 10000.00 USD',
        text: expect.stringContaining('pm_card_visa'),
        status: 'sent',
        codes: [],
        links: [],
        created_at: at / 1000,
      },
    ])
    const [event] = await eventsOf(call, token, 'payment.created')
    expect(event).toMatchObject({
      actor: `user:${payer.id}`,
      subject: `payment:${payment.id}`,
      data: {
        amount: 10000,
        payee_hostname: payer.hostname,
        charge_id: expect.stringMatching(/^ch_test_topup_[0-9a-f]{32}$/),
        card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2050 },
      },
    })
  })

  test("an account's charge is found by its twin's hostname", async () => {
    const { call, seller } = await prepared()
    const { hostname } = await newTwin(call, seller.token)
    await topUp(call, { token: seller.token, hostname })
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${hostname}`)).body
    expect(messages).toMatchObject([{ kind: 'card', to: hostname }])
  })

  test('the binder shows it as received from the issuer', async () => {
    const { call, payer } = await prepared()
    const { payment } = (await topUp(call, payer)).body
    const headers = { accept: 'application/json' }
    const { body } = await call('GET', `/v4/twin/${payer.hostname}/binder`, { token: payer.token, headers })
    expect(body).toMatchObject([
      {
        data: {
          entry: { amount: 5, fromAddress: expect.stringMatching(payment.hostname.slice(0, 32)), type: payment.dq },
          entryAuthor: expect.stringMatching(payment.hostname.slice(0, 32)),
          entryOperation: 'receive',
          entryType: 'topup',
        },
      },
    ])
  })

  for (const [method, reason] of [
    ['pm_card_chargeDeclined', 'declined by the bank'],
    ['pm_card_chargeDeclinedInsufficientFunds', 'insufficient funds'],
    ['pm_card_expired', 'expired card'],
    ['pm_card_of_nobody', 'unknown payment method'],
  ])
    test(`${method} is 402 card_declined: ${reason}, and the payment has failed`, async () => {
      const { call, payer } = await prepared()
      const refused = await topUp(call, payer, { payment_method_id: method })
      expectProblem(refused, 402, 'card_declined')
      expect(refused.body.reason).toBe(reason)
      expect(refused.body.error).toContain(reason)
      const [payment] = await topupsOf(call, payer.token)
      expect(payment).toMatchObject({ id: refused.body.payment_id, status: 'failed', amount: 5 })
      expect(await eventsOf(call, payer.token, 'payment.failed')).toMatchObject([
        { subject: `payment:${payment.id}`, data: { reason } },
      ])
      expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0)
      expect((await expectSoundLedger(call)).movements).toBe(0)
    })

  test('is 502 processor_failed if the processor is down: nothing is charged, and the payment has failed', {
    tags: 'everywhere',
  }, async () => {
    const { call, payer } = await prepared()
    const refused = await topUp(call, payer, { payment_method_id: 'pm_processor_down' })
    expectProblem(refused, 502, 'processor_failed')
    expect(refused.body).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('The card was not charged'),
    })
    expect(await topupsOf(call, payer.token)).toMatchObject([{ id: refused.body.payment_id, status: 'failed' }])
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0)
  })

  test('is 502 processor_failed if the processor takes too long: the payment is pending', async () => {
    const { call, payer } = await prepared({ limits: { cardMs: 50 } })
    const refused = await topUp(call, payer, { payment_method_id: 'pm_processor_slow' })
    expectProblem(refused, 502, 'processor_failed')
    const { payment_id, outcome, error } = refused.body
    expect(outcome).toBe('unknown')
    expect(error).toContain(`/v4/payments/${payment_id}`)
    const { status, body } = await call('GET', `/v4/payments/${payment_id}`, { token: payer.token })
    expect([status, body.status, body.kind]).toEqual([200, 'pending', 'topup'])
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0)
    expect((await expectSoundLedger(call)).movements).toBe(0)
  })

  test('keeps an unsettled charge when the outbox is emptied', { tags: 'everywhere' }, async () => {
    const { call, payer } = await prepared({ limits: { cardMs: 50 } })
    await topUp(call, payer)
    await topUp(call, payer, { payment_method_id: 'pm_processor_slow' })
    expect((await call('DELETE', '/_sandbox/outbox')).status).toBe(204)
    expect(await chargesOf(call)).toMatchObject([
      { text: expect.stringContaining('pm_processor_slow'), status: 'pending' },
    ])
  })

  test('requires an amount above zero in whole cents that can be issued', async () => {
    const { call, payer } = await prepared()
    for (const [amount, detail] of [
      [0, 'above zero'],
      [-1, 'negative'],
      [0.001, 'whole cents'],
      [1.005, 'whole cents'],
      [0.0001, 'at most 3 decimals'],
      [1e300, 'at most'],
      [10_000.01, 'may be at most 10000.00 USD'],
    ] as const) {
      const refused = await topUp(call, payer, { amount })
      expectProblem(refused, 400, 'amount_invalid')
      expect(refused.body.error).toContain(detail)
    }
    const most = 4_503_599_627_370
    for (const amount of [most, most]) expect((await fund(call, payer.hostname, amount)).status).toBe(200)
    const charges = (await chargesOf(call)).length
    const refused = await topUp(call, payer, { amount: 5 })
    expectProblem(refused, 400, 'amount_invalid')
    expect(refused.body.error).toContain('more than can be issued now')
    expect(await chargesOf(call)).toHaveLength(charges)
    expect(await topupsOf(call, payer.token)).toEqual([])
    await expectSoundLedger(call)
  })

  test('refuses twins of others, unknown twins and unknown digital quantities', async () => {
    const { call, seller, payer } = await prepared()
    const { token } = seller
    expectProblem(await topUp(call, { token, hostname: payer.hostname }), 403, 'not_owner')
    expectProblem(await topUp(call, { token, hostname: 'nobody.twin.localhost' }), 404, 'not_found')
    expectProblem(await topUp(call, payer, { dq: UNKNOWN_DQ }), 400, 'dq_unknown')
    expect(await chargesOf(call)).toEqual([])
  })

  test('refuses a body with a missing or mistyped field', async () => {
    const { call, payer } = await prepared()
    for (const [field, body] of [
      ['amount', { amount: undefined }],
      ['amount', { amount: '5' }],
      ['payment_method_id', { payment_method_id: undefined }],
      ['payment_method_id', { payment_method_id: '' }],
      ['payment_method_id', { payment_method_id: 'x'.repeat(256) }],
      ['payment_method_id', { payment_method_id: 'pm\n1' }],
      ['dq', { dq: 5 }],
    ] as const) {
      const refused = await topUp(call, payer, body)
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe(field)
    }
    expect(await topupsOf(call, payer.token)).toEqual([])
  })

  for (const number of ['4242424242424242', '4242 4242 4242 4242', '5555-5555-5555-4444', '378282246310005'])
    test(`refuses a card number, such as ${number}, and neither repeats nor keeps it`, async () => {
      const { call, payer, state } = await prepared()
      for (const body of [{ payment_method_id: number }, { dq: number }, { card: { number } }, { pan: number }]) {
        const refused = await topUp(call, payer, body)
        expectProblem(refused, 400, 'card_data_refused')
        expect(refused.text).not.toContain(number)
      }
      expect(JSON.stringify(await state())).not.toContain(number)
      expect(await chargesOf(call)).toEqual([])
      expect(await topupsOf(call, payer.token)).toEqual([])
    })

  test('charges once under an Idempotency-Key, also for twenty at once', async () => {
    const { call, payer } = await prepared()
    const keyed = { ...payer, headers: { 'idempotency-key': 'once' } }
    const answers = await Promise.all(Array.from({ length: 20 }, () => topUp(call, keyed)))
    for (const answer of answers) if (answer.status !== 201) expectProblem(answer, 409, 'idempotency_in_progress')
    const again = await topUp(call, keyed)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(5)
    expect(await chargesOf(call)).toHaveLength(1)
    expectProblem(await topUp(call, keyed, { amount: 6 }), 422, 'idempotency_mismatch')
  })

  test('repeats the refusal of a card with the same key, and charges nothing', async () => {
    const { call, payer } = await prepared()
    const keyed = { ...payer, headers: { 'idempotency-key': 'once' } }
    const ask = () => topUp(call, keyed, { payment_method_id: 'pm_card_chargeDeclined' })
    const [first, again] = [await ask(), await ask()]
    expectProblem(first, 402, 'card_declined')
    expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([first.body, 'true'])
    expect(await chargesOf(call)).toHaveLength(1)
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0)
  })

  test('repeats the failure of the processor with the same key, because the card may be charged', async () => {
    const { call, payer } = await prepared()
    const keyed = { ...payer, headers: { 'idempotency-key': 'once' } }
    for (const replayed of [null, 'true']) {
      const down = await topUp(call, keyed, { payment_method_id: 'pm_processor_down' })
      expectProblem(down, 502, 'processor_failed')
      expect([down.body.outcome, down.headers.get('idempotent-replayed')]).toEqual(['failed', replayed])
      expect(await chargesOf(call)).toHaveLength(1)
    }
    expectProblem(await topUp(call, keyed), 422, 'idempotency_mismatch')
    expect((await topUp(call, { ...payer, headers: { 'idempotency-key': 'another' } })).status).toBe(201)
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(5)
  })

  test('charges 20 times for 20 calls at the same moment', async () => {
    const { call, payer } = await prepared()
    const answers = await Promise.all(Array.from({ length: 20 }, () => topUp(call, payer, { amount: 0.05 })))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201))
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(1)
    expect(new Set(answers.map(({ body }) => body.payment.id)).size).toBe(20)
    expect(await chargesOf(call)).toHaveLength(20)
    await expectSoundLedger(call)
  })
})

contract('readTestValues', (start) => {
  test('GET /_sandbox/test-values lists payment methods and emails, each with what it does', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const { status, body } = await call('GET', '/_sandbox/test-values')
    expect(status).toBe(200)
    expect(body.payment_methods.map(({ value }: { value: string }) => value)).toEqual([
      'pm_card_visa',
      'pm_card_mastercard',
      'pm_card_chargeDeclined',
      'pm_card_chargeDeclinedInsufficientFunds',
      'pm_card_chargeCustomerFail',
      'pm_card_expired',
      'pm_processor_down',
      'pm_processor_slow',
    ])
    expect(body.emails.map(({ value }: { value: string }) => value)).toEqual(['+code123456@', '+bounce@'])
    for (const { does } of [...body.payment_methods, ...body.emails]) expect(does).toMatch(/^[A-Z].+\.$/)
    expect(body.note).toContain('Amounts never change what happens')
  })

  test('every payment method but the slow one does what the list says', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const statuses = { succeeded: 201, declined: 402, unavailable: 502 }
    const { payment_methods } = (await call('GET', '/_sandbox/test-values')).body
    for (const { value, status, reason, after_seconds } of payment_methods) {
      if (after_seconds) continue
      const answer = await topUp(call, payer, { payment_method_id: value })
      expect([value, answer.status]).toEqual([value, statuses[status as keyof typeof statuses]])
      expect(answer.body.reason).toBe(reason)
    }
  })
})

contract('Mail to +bounce@', (start) => {
  test('bounces: the outbox says so at once, and whoever has the address is told', async () => {
    const { call, made: payer } = await startWith(start, newSeededUser, 'ada+bounce@example.test')
    for (const email of ['ada+bounce@example.test', 'nobody+bounce@example.test', 'bob@example.test'])
      expect((await call('POST', '/v4/session/code', { body: { email } })).status).toBe(202)
    const statuses = async () =>
      (await call('GET', '/_sandbox/outbox?kind=mail')).body.messages.map(({ to, status }: any) => [to, status])
    await expect.poll(statuses).toEqual([
      ['bob@example.test', 'sent'],
      ['nobody+bounce@example.test', 'failed'],
      ['ada+bounce@example.test', 'failed'],
    ])
    expect(await eventsOf(call, payer.token, 'email.bounced')).toMatchObject([
      { actor: 'service', subject: expect.stringMatching(/^message:\d+$/), data: { subject: expect.any(String) } },
    ])
    expect(await eventsOf(call, payer.token, 'email.sent')).toEqual([])
  })
})
