import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { prepared, startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, setClock, stopClock } from '../../support/scenes/market.js'
import { answerFromDevice, ask, poll, registerDevice, secondFactorEvents } from '../../support/scenes/second-factor.js'
import { newUser, type Payer } from '../../support/scenes/world.js'

const world = (start: Start) => asker(start, undefined)

const asker = prepared(async (call) => ({ at: await stopClock(call), payer: await newUser(call) }))

const setPhone = (call: Call, { id }: Payer, mode: string, after_seconds?: number) =>
  call('POST', `/_sandbox/devices/${id}`, { body: { mode, ...(after_seconds !== undefined && { after_seconds }) } })

/** What a request is as time goes on: at each second named, asked without slowing anybody down. */
async function statusesAt(call: Call, payer: Payer, id: number, at: number, seconds: readonly number[]) {
  const statuses = []
  for (const second of seconds) {
    await setClock(call, at + second * 1000)
    statuses.push((await poll(call, payer, id)).body.status)
  }
  return statuses
}

contract('setPhone', (start) => {
  it('POST /_sandbox/devices/:user_id gives a user without a device a phone, which waits for commands', async () => {
    const { call, at, payer } = await world(start)
    const { status, body } = await setPhone(call, payer, 'manual')
    expect([status, body]).toEqual([200, { user_id: payer.id, mode: 'manual', after_seconds: 0 }])
    const { registrations } = (await call('GET', '/v4/notifications/registrations', { token: payer.token })).body
    expect(registrations).toEqual([expect.objectContaining({ platform: 'web', name: 'Sandbox phone' })])
    await setPhone(call, payer, 'manual')
    const { id } = (await ask(call, payer)).body
    expect((await call('GET', '/_sandbox/outbox')).body.messages).toHaveLength(1)
    expect(await statusesAt(call, payer, id, at, [0, 60, 119, 121])).toEqual([
      'pending',
      'pending',
      'pending',
      'expired',
    ])
  })

  it("keeps the user's own device, which still answers", async () => {
    const { call, payer } = await world(start)
    await registerDevice(call, payer)
    await setPhone(call, payer, 'ignore')
    const { id } = (await ask(call, payer)).body
    expect((await call('GET', '/_sandbox/outbox?kind=push')).body.messages).toHaveLength(1)
    expect((await answerFromDevice(call, payer, { id })).body.status).toBe('approved')
  })

  it.each([
    ['approve', 'approved'],
    ['reject', 'rejected'],
  ])('%s: answers at once what is asked from now on', async (mode, status) => {
    const { call, at, payer } = await world(start)
    await setPhone(call, payer, mode)
    const { id } = (await ask(call, payer)).body
    expect(await statusesAt(call, payer, id, at, [1])).toEqual([status])
    expect(await secondFactorEvents(call, payer.token)).toEqual([
      ['requested', 'push'],
      [status, 'phone'],
    ])
  })

  it("answers after the given number of seconds of the service's clock", async () => {
    const { call, at, payer } = await world(start)
    await setPhone(call, payer, 'approve', 4.5)
    const { id } = (await ask(call, payer)).body
    expect(await statusesAt(call, payer, id, at, [0, 4, 5])).toEqual(['pending', 'pending', 'approved'])
  })

  it('answers an expired request in vain', async () => {
    const { call, at, payer } = await world(start)
    await setPhone(call, payer, 'approve', 120)
    const { id } = (await ask(call, payer)).body
    expect(await statusesAt(call, payer, id, at, [119, 121, 200])).toEqual(['pending', 'expired', 'expired'])
  })

  it('answers by its mode at the time of the push, once for all devices', async () => {
    const { call, at, payer } = await world(start)
    await registerDevice(call, payer, 'one')
    await registerDevice(call, payer, 'two', { from: 'one' })
    await setPhone(call, payer, 'reject', 10)
    const { id } = (await ask(call, payer)).body
    await advance(call, '1s')
    await setPhone(call, payer, 'approve', 1)
    const next = (await ask(call, payer)).body.id
    expect(await statusesAt(call, payer, next, at, [3])).toEqual(['approved'])
    expect(await statusesAt(call, payer, id, at, [6, 11])).toEqual(['pending', 'rejected'])
    expect(await secondFactorEvents(call, payer.token)).toHaveLength(4)
  })

  it('does nothing if an answer comes first', { tags: 'everywhere' }, async () => {
    const { call, at, payer } = await world(start)
    await registerDevice(call, payer)
    await setPhone(call, payer, 'approve', 10)
    const { id } = (await ask(call, payer)).body
    await answerFromDevice(call, payer, { id, verb: 'reject' })
    expect(await statusesAt(call, payer, id, at, [11])).toEqual(['rejected'])
  })

  it('answers with a running clock too', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    await setPhone(call, payer, 'approve')
    const { id } = (await ask(call, payer)).body
    await expect
      .poll(
        async () => (await call('GET', '/v4/events?type=second_factor.approved', { token: payer.token })).body.events,
      )
      .toHaveLength(1)
    expect((await poll(call, payer, id)).body.status).toBe('approved')
  })

  it('requires a known user, a mode and a delay of at most a day', async () => {
    const { call, payer } = await world(start)
    expectProblem(await setPhone(call, { ...payer, id: 999_999 }, 'approve'), 404, 'not_found')
    for (const [field, mode, after] of [
      ['mode', 'maybe', 0],
      ['after_seconds', 'approve', -1],
      ['after_seconds', 'approve', 86_401],
    ] as const) {
      const answer = await setPhone(call, payer, mode, after)
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe(field)
    }
  })
})

contract('readPhone', (start) => {
  it('GET /_sandbox/devices/:user_id shows the mode of the phone and its waiting requests', async () => {
    const { call, payer } = await world(start)
    const read = async () => (await call('GET', `/_sandbox/devices/${payer.id}`)).body
    const none = { user_id: payer.id, has_device: false, mode: 'manual', after_seconds: 0, requests: [] }
    expect(await read()).toEqual(none)
    await setPhone(call, payer, 'ignore', 1.5)
    const request = (await ask(call, payer)).body
    expect(await read()).toEqual({
      ...none,
      has_device: true,
      mode: 'ignore',
      after_seconds: 1.5,
      requests: [request],
    })
    await advance(call, '3m')
    expect((await read()).requests).toEqual([])
  })

  it('is 404 for nobody', async () => {
    const { call } = await world(start)
    expectProblem(await call('GET', '/_sandbox/devices/999999'), 404, 'not_found')
  })
})

for (const [operation, verb, status] of [
  ['approveOnPhone', 'approve', 'approved'],
  ['rejectOnPhone', 'reject', 'rejected'],
] as const)
  contract(operation, (start) => {
    it(`POST /_sandbox/devices/:user_id/${verb} answers all that waits now, however it was asked`, async () => {
      const { call, payer } = await world(start)
      const byMail = (await ask(call, payer)).body
      await registerDevice(call, payer)
      const byPush = (await ask(call, payer, { action: 'paywall' })).body
      const answer = await call('POST', `/_sandbox/devices/${payer.id}/${verb}`)
      expect([answer.status, answer.body]).toEqual([
        200,
        {
          requests: [
            { ...byPush, status },
            { ...byMail, status },
          ],
        },
      ])
      const later = (await ask(call, payer)).body
      expect((await poll(call, payer, later.id)).body.status).toBe('pending')
      await advance(call, '3m')
      expect((await call('POST', `/_sandbox/devices/${payer.id}/${verb}`)).body).toEqual({ requests: [] })
    })

    it('answers only the named request', { tags: 'everywhere' }, async () => {
      const { call, payer } = await world(start)
      const first = (await ask(call, payer)).body
      const second = (await ask(call, payer)).body
      const answer = (id: number) => call('POST', `/_sandbox/devices/${payer.id}/${verb}`, { body: { id } })
      expect((await answer(first.id)).body).toEqual({ requests: [{ ...first, status }] })
      expect((await answer(first.id)).body).toEqual({ requests: [] })
      expect((await poll(call, payer, second.id)).body.status).toBe('pending')
    })

    it('is 404 for nobody', async () => {
      const { call } = await world(start)
      expectProblem(await call('POST', `/_sandbox/devices/999999/${verb}`), 404, 'not_found')
    })
  })

contract('signInAsUser', (start) => {
  it('POST /_sandbox/sign-in starts a session without a code or device', { tags: 'everywhere' }, async () => {
    const { call, payer } = await world(start)
    await setPhone(call, payer, 'ignore')
    const { status, body } = await call('POST', '/_sandbox/sign-in', {
      body: { email: ` ${payer.email.toUpperCase()}` },
    })
    expect([status, body.headers]).toEqual([201, { 'x-session-id': body.session_id }])
    expect(body.user).toMatchObject({ id: payer.id, email: payer.email })
    expect((await call('GET', '/v4/twins', { headers: body.headers })).body.twins).toHaveLength(1)
    expect((await call('GET', '/_sandbox/outbox?kind=mail')).body.messages).toEqual([])
  })

  it('creates an unknown user, like a code, and proves the email', async () => {
    const { call } = await start()
    const { headers, user } = (await call('POST', '/_sandbox/sign-in', { body: { email: 'new@example.test' } })).body
    expect((await call('GET', '/v4/session', { headers })).body.user).toMatchObject({ id: user.id })
    const again = (await call('POST', '/_sandbox/sign-in', { body: { email: 'new@example.test' } })).body
    expect(again.user.id).toBe(user.id)
    expect(again.session_id).not.toBe(headers['x-session-id'])
    expect((await call('GET', '/v4/sessions', { headers })).body.sessions).toHaveLength(2)
  })
})
