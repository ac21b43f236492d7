import { expect, it } from 'vitest'
import { contract, type Start } from '../../support/contract/contract.js'
import { prepared, startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, setClock, stopClock } from '../../support/scenes/market.js'
import {
  answerFromDevice,
  ask,
  DETAIL,
  poll,
  registerDevice,
  secondFactorEvents,
} from '../../support/scenes/second-factor.js'
import { newPayer, newSeller, newSession, newUser } from '../../support/scenes/world.js'

/** A user with a device and a session, while the clock stands still. */
const world = (start: Start) => asker(start, undefined)

const asker = prepared(async (call) => {
  const at = await stopClock(call)
  const payer = await newPayer(call, await newSeller(call), { email: 'ada@example.test' })
  const session = await newSession(call, payer.email)
  const device = await registerDevice(call, payer)
  return { at, payer, session, device }
})

contract('createAuthenticationRequest', (start) => {
  it('POST /v4/authentication-requests answers 201 with the request, and pushes it to every device', async () => {
    const { call, at, payer } = await world(start)
    await registerDevice(call, payer, 'another-token', { from: 'device-token' })
    const { status, body } = await ask(call, payer)
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.any(Number),
      status: 'pending',
      action: 'transfer',
      detail: DETAIL,
      interval: 2,
      expires_at: at / 1000 + 120,
      created_at: at / 1000,
    })
    const { messages } = (await call('GET', '/_sandbox/outbox?kind=push')).body
    expect(messages).toEqual(
      [1, 2].map(() =>
        expect.objectContaining({
          kind: 'push',
          to: payer.email,
          subject: 'Approve or reject: “Transfer”',
          text: expect.stringMatching(/\n“Payee: shop\. example\. test; Amount: 2\.5; Digital quantity: USD”$/),
          data: { authentication_request_id: String(body.id), user_id: String(payer.id), action: 'transfer' },
        }),
      ),
    )
    const mails = (await call('GET', `/_sandbox/outbox?to=${payer.email}&kind=mail`)).body.messages
    expect(mails.flatMap(({ links }: { links: string[] }) => links)).toEqual([])
  })

  it('mails a link to a user without a device', async () => {
    const { call, url, made: payer } = await startWith(start, newUser)
    const { id } = (await ask(call, payer, { action: 'sign_in', detail: { app: 'A\nb  c' } })).body
    const { messages } = (await call('GET', '/_sandbox/outbox')).body
    expect(messages).toHaveLength(1)
    const [{ kind, to, subject, text, links }] = messages
    expect([kind, to, subject]).toEqual(['mail', payer.email, 'Approve or reject: “Sign in”'])
    expect(text).toContain('\n“App: A b c”\n')
    expect(links).toEqual([expect.stringMatching(/answer\?token=[\w-]{43}$/)])
    expect(links[0].startsWith(`${url}/v4/authentication-requests/${id}/answer?`)).toBe(true)
  })

  it('a paywall has 30 seconds for its answer', async () => {
    const { call, at, payer } = await world(start)
    const { body } = await ask(call, payer, { action: 'paywall' })
    expect(body.expires_at).toBe(at / 1000 + 30)
    await advance(call, '30s')
    expect((await poll(call, payer, body.id)).body.status).toBe('expired')
  })

  it('shows the names of the action and the fields in its own words', async () => {
    const { call, payer } = await world(start)
    await ask(call, payer, { action: 'constructor', detail: { constructor: 'x', to_string: ['y'] } })
    const [{ subject, text }] = (await call('GET', '/_sandbox/outbox?kind=push')).body.messages
    expect(subject).toBe('Approve or reject: “Constructor”')
    expect(text).toContain("“Constructor: x; To string: ['y']”")
  })

  it.each([
    ['action', { action: 'Sign in' }],
    ['action', { action: '' }],
    ['action', { action: 'a'.repeat(65) }],
    ['detail', { detail: { text: 'x'.repeat(2048) } }],
  ])('requires a short action and a readable detail: a wrong %s is 400', async (field, body) => {
    const { call, payer } = await world(start)
    const answer = await ask(call, payer, body)
    expectProblem(answer, 400, 'field_invalid')
    expect(answer.body.field).toBe(field)
  })

  it('takes a detail of 2048 characters of JSON, and none of more', async () => {
    const { call, payer } = await world(start)
    const detailOf = (length: number) => ({ detail: { text: 'x'.repeat(length - '{"text":""}'.length) } })
    expect((await ask(call, payer, detailOf(2048))).status).toBe(201)
    expectProblem(await ask(call, payer, detailOf(2049)), 400, 'field_invalid')
  })

  it('push bombing: at most 5 wait for a user; the sixth is 429, says when to retry, and pushes nothing', async () => {
    const { call, payer, session } = await world(start)
    const ids = []
    for (let n = 0; n < 5; n++) {
      ids.push((await ask(call, n % 2 ? payer : { session })).body.id)
      await advance(call, '10s')
    }
    for (const caller of [payer, { session }]) {
      const refused = await ask(call, caller)
      expectProblem(refused, 429, 'too_many_pending')
      expect(refused.headers.get('retry-after')).toBe('70')
    }
    expect((await call('GET', '/_sandbox/outbox?kind=push')).body.messages).toHaveLength(5)
    await answerFromDevice(call, payer, { id: ids[2] })
    expect((await ask(call, payer)).status).toBe(201)
    expectProblem(await ask(call, payer), 429, 'too_many_pending')
    const other = await newPayer(call, await newSeller(call))
    expect((await ask(call, other)).status).toBe(201)
    await advance(call, '70s')
    expectProblem(await ask(call, payer), 429, 'too_many_mails')
    await advance(call, '15m')
    expect((await ask(call, payer)).status).toBe(201)
  })

  it('push bombing: five of 20 requests at once are sent', async () => {
    const { call, payer } = await world(start)
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(call, payer)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(answers.filter(({ body }) => body.code === 'too_many_pending')).toHaveLength(15)
  })
})

contract('readAuthenticationRequest', (start) => {
  it('GET /v4/authentication-requests/:id shows the request only to its user', async () => {
    const { call, payer, session } = await world(start)
    const asked = (await ask(call, { session })).body
    expect((await poll(call, { session }, asked.id)).body).toEqual(asked)
    await advance(call, '2s')
    expect((await poll(call, payer, asked.id)).body).toEqual(asked)
    const eve = await newPayer(call, await newSeller(call))
    for (const [caller, id] of [
      [eve, asked.id],
      [payer, 999_999],
    ] as const) {
      const answer = await poll(call, caller, id)
      expectProblem(answer, 404, 'not_found')
    }
    expect((await poll(call, eve, asked.id)).text).toBe((await poll(call, eve, 999_999)).text)
  })

  it('fast polling is 429 and says how long to wait', async () => {
    const { call, at, payer } = await world(start)
    const { id } = (await ask(call, payer)).body
    expect((await poll(call, payer, id)).status).toBe(200)
    for (const later of [0, 1000, 1749]) {
      await setClock(call, at + later)
      const refused = await poll(call, payer, id)
      expectProblem(refused, 429, 'slow_down')
      expect(refused.headers.get('retry-after')).toBe(later === 0 ? '2' : '1')
    }
    // A timer of a client's that is a little early is on time.
    await setClock(call, at + 1750)
    expect((await poll(call, payer, id)).status).toBe(200)
    expectProblem(await poll(call, payer, id), 429, 'slow_down')
  })

  it('one poll of 10 that come at once is answered', async () => {
    const { call, payer } = await world(start)
    const { id } = (await ask(call, payer)).body
    const answers = await Promise.all(Array.from({ length: 10 }, () => poll(call, payer, id)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(429)])
  })

  it('has no polling limit after the answer, nor for the device', async () => {
    const { call, payer } = await world(start)
    const { id } = (await ask(call, payer)).body
    const asDevice = { token: payer.token, headers: { 'x-device-token': 'device-token' } }
    for (let n = 0; n < 3; n++) expect((await poll(call, asDevice, id)).body.status).toBe('pending')
    expect((await poll(call, payer, id)).body.status).toBe('pending')
    const asAnother = { token: payer.token, headers: { 'x-device-token': 'another-token' } }
    expectProblem(await poll(call, asAnother, id), 429, 'slow_down')
    await answerFromDevice(call, payer, { id })
    for (let n = 0; n < 3; n++) expect((await poll(call, payer, id)).body.status).toBe('approved')
  })

  it.each([
    ['one millisecond before two minutes are over', 119_999, 'pending'],
    ['after two minutes', 120_000, 'expired'],
    ['a day later', 86_400_000, 'expired'],
  ])('nobody has answered %s: %s', async (_, later, status) => {
    const { call, at, payer } = await world(start)
    const { id } = (await ask(call, payer)).body
    await setClock(call, at + Math.min(later, 3_000_000))
    expect((await poll(call, payer, id)).body.status).toBe(status)
  })
})

for (const [verb, status, operation] of [
  ['approve', 'approved', 'approveAuthenticationRequest'],
  ['reject', 'rejected', 'rejectAuthenticationRequest'],
] as const)
  contract(operation, (start) => {
    it(`POST /v4/authentication-requests/:id/${verb} from a registered device is the answer`, async () => {
      const { call, payer, session } = await world(start)
      const asked = (await ask(call, { session })).body
      const answer = await answerFromDevice(call, payer, { id: asked.id, verb })
      expect([answer.status, answer.body]).toEqual([200, { ...asked, status }])
      expect((await poll(call, { session }, asked.id)).body).toEqual({ ...asked, status })
    })

    it('a second answer is always 409', async () => {
      const { call, payer } = await world(start)
      const { id } = (await ask(call, payer)).body
      await answerFromDevice(call, payer, { id, verb })
      for (const second of ['approve', 'reject'] as const)
        expectProblem(await answerFromDevice(call, payer, { id, verb: second }), 409, 'not_pending')
      expect((await poll(call, payer, id)).body.status).toBe(status)
    })

    it('a late answer is 409, and the request has expired', async () => {
      const { call, payer } = await world(start)
      const { id } = (await ask(call, payer)).body
      await advance(call, '2m')
      expectProblem(await answerFromDevice(call, payer, { id, verb }), 409, 'not_pending')
      expect((await poll(call, payer, id)).body.status).toBe('expired')
    })

    it("an unknown or another user's request is 404", async () => {
      const { call, payer } = await world(start)
      const eve = await newPayer(call, await newSeller(call))
      await registerDevice(call, eve, 'eves-device')
      const { id } = (await ask(call, payer)).body
      expectProblem(await answerFromDevice(call, payer, { id: 999_999, verb }), 404, 'not_found')
      for (const device of ['eves-device', 'device-token'])
        expectProblem(await answerFromDevice(call, eve, { id, verb, device }), 404, 'not_found')
      expect((await poll(call, payer, id)).body.status).toBe('pending')
    })

    it("accepts only the user's own devices: 403", async () => {
      const { call, payer } = await world(start)
      const eve = await newPayer(call, await newSeller(call))
      await registerDevice(call, eve, 'eves-device')
      const { id } = (await ask(call, payer)).body
      for (const device of ['eves-device', 'unknown', ''])
        expectProblem(await answerFromDevice(call, payer, { id, verb, device }), 403, 'device_refused')
      const path = `/v4/authentication-requests/${id}/${verb}`
      expectProblem(await call('POST', path, { token: payer.token }), 403, 'device_refused')
      expect((await poll(call, payer, id)).body.status).toBe('pending')
    })

    it('the session that requested it cannot answer, not even from a device: 403', { tags: 'everywhere' }, async () => {
      const { call, payer, session } = await world(start)
      const { id } = (await ask(call, { session })).body
      expectProblem(await answerFromDevice(call, { session }, { id, verb }), 403, 'self_approval')
      expect((await poll(call, payer, id)).body.status).toBe('pending')
      const another = await newSession(call, payer.email)
      expect((await answerFromDevice(call, { session: another }, { id, verb })).body.status).toBe(status)
    })
  })

contract('who may answer a request', (start) => {
  it('excludes a device that was registered later', async () => {
    const { call, payer, session } = await world(start)
    const { id } = (await ask(call, { session })).body
    await registerDevice(call, { session }, 'thiefs-device')
    const thief = { id, device: 'thiefs-device' }
    expectProblem(await answerFromDevice(call, payer, thief), 403, 'device_refused')
    expect((await answerFromDevice(call, payer, { id })).status).toBe(200)
  })

  it('excludes a device that replaced an asked one', async () => {
    const { call, payer, session } = await world(start)
    const path = '/v3/pay/notifications/register'
    await call('POST', path, { token: payer.token, body: { fcmToken: 'first', deviceId: 'phone' } })
    const { id } = (await ask(call, { session })).body
    const headers = { 'x-device-token': 'first' }
    await call('POST', path, { session, headers, body: { fcmToken: 'second', deviceId: 'phone' } })
    for (const device of ['first', 'second'])
      expectProblem(await answerFromDevice(call, payer, { id, device }), 403, 'device_refused')
  })

  it('excludes a removed device', async () => {
    const { call, payer, device } = await world(start)
    const { id } = (await ask(call, payer)).body
    const headers = { 'x-device-token': 'device-token' }
    await call('DELETE', `/v4/notifications/registrations/${device}`, { token: payer.token, headers })
    expectProblem(await answerFromDevice(call, payer, { id }), 403, 'device_refused')
  })
})

contract('the OpenAPI document', (start) => {
  it('names the header that a device answers with', async () => {
    const { call } = await start()
    const { paths } = (await call('GET', '/v4/openapi.json')).body
    const required = (path: string, method: string) =>
      paths[path][method].parameters.find(({ name }: { name: string }) => name === 'X-Device-Token')?.required
    expect(required('/v4/authentication-requests/{id}/approve', 'post')).toBe(true)
    expect(required('/v4/authentication-requests/{id}', 'get')).toBe(false)
    expect(required('/v4/authentication-requests/{id}/answer', 'get')).toBeUndefined()
  })
})

contract('a request', (start) => {
  it('never changes, whatever its answer contains', async () => {
    const { call, payer, state } = await world(start)
    const asked = (await ask(call, payer)).body
    const body = { action: 'sign_in', detail: { payee: 'thief.example.test' } }
    const headers = { 'x-device-token': 'device-token' }
    const path = `/v4/authentication-requests/${asked.id}`
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST'])
      expect((await call(method, path, { token: payer.token, headers, body })).status).toBe(405)
    const answer = await call('POST', `${path}/approve`, { token: payer.token, headers, body })
    expect(answer.body).toEqual({ ...asked, status: 'approved' })
    const [row] = (await state()).rows.authentication_requests ?? []
    expect(row).toMatchObject({ action: 'transfer', detail: DETAIL, status: 'approved' })
  })

  it('accepts one of 20 answers at once', async () => {
    const { call, payer } = await world(start)
    const { id } = (await ask(call, payer)).body
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => answerFromDevice(call, payer, { id, verb: n % 2 ? 'approve' : 'reject' })),
    )
    const [first, ...others] = answers.filter(({ status }) => status === 200)
    expect(others).toEqual([])
    expect(answers.filter(({ body }) => body.code === 'not_pending')).toHaveLength(19)
    expect((await poll(call, payer, id)).body.status).toBe(first?.body.status)
    expect(await secondFactorEvents(call, payer.token)).toHaveLength(2)
  })

  it('is either answered or expired if both happen at once', async () => {
    const { call, payer } = await world(start)
    const { id } = (await ask(call, payer)).body
    const [answer] = await Promise.all([answerFromDevice(call, payer, { id }), advance(call, '2m')])
    const { status } = (await poll(call, payer, id)).body
    expect([answer.status, status]).toEqual(answer.status === 200 ? [200, 'approved'] : [409, 'expired'])
    expect((await secondFactorEvents(call, payer.token)).map(([type]) => type)).toEqual(['requested', status])
  })

  it("records its outcome in its user's log once", async () => {
    const { call, payer, session, device } = await world(start)
    const approved = (await ask(call, payer)).body
    await answerFromDevice(call, payer, { id: approved.id })
    const rejected = (await ask(call, { session })).body
    await answerFromDevice(call, payer, { id: rejected.id, verb: 'reject' })
    const expired = (await ask(call, payer)).body
    await advance(call, '2m')
    for (let n = 0; n < 3; n++) await poll(call, payer, expired.id)
    await answerFromDevice(call, payer, { id: expired.id })
    expect(await secondFactorEvents(call, payer.token)).toEqual([
      ['requested', 'push'],
      ['approved', `device:${device}`],
      ['requested', 'push'],
      ['rejected', `device:${device}`],
      ['requested', 'push'],
      ['expired', undefined],
    ])
    const { events } = (await call('GET', '/v4/events?type=second_factor.expired', { token: payer.token })).body
    expect(events).toEqual([
      expect.objectContaining({
        actor: 'service',
        subject: `authentication_request:${expired.id}`,
        data: { action: 'transfer' },
      }),
    ])
  })

  it('that nobody reads has expired when the next one is created', async () => {
    const { call, payer } = await world(start)
    for (let n = 0; n < 4; n++) await ask(call, payer)
    await advance(call, '2m')
    await ask(call, payer)
    const types = (await secondFactorEvents(call, payer.token)).map(([type]) => type)
    expect(types).toEqual([...Array(4).fill('requested'), ...Array(4).fill('expired'), 'requested'])
  })
})
