import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, readPages, stopClock } from '../../support/scenes/market.js'
import { registerDevice } from '../../support/scenes/second-factor.js'
import { newPayer, newSeller, newSession, newUser, type Payer, tokenFor } from '../../support/scenes/world.js'

const REGISTRATIONS = '/v4/notifications/registrations'

const register = (call: Call, { token }: Payer, body: object) => call('POST', REGISTRATIONS, { token, body })

const flagsOf = async (call: Call, { id, token }: Payer) => {
  const { is_ios, is_android } = (await call('GET', `/v4/user/${id}`, { token })).body
  return { is_ios, is_android }
}

const devicesOf = async (call: Call, { token }: Payer) =>
  (await call('GET', REGISTRATIONS, { token })).body.registrations

contract('createRegistration', (start) => {
  it('POST /v4/notifications/registrations registers a device and never shows its token', async () => {
    const { call, state } = await start()
    const at = await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    const answer = await register(call, payer, { platform: 'ios', token: 'secret-token', name: "Ada's phone" })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      id: expect.any(Number),
      platform: 'ios',
      name: "Ada's phone",
      created_at: at / 1000,
    })
    expect(await devicesOf(call, payer)).toEqual([answer.body])
    expect(JSON.stringify((await state()).rows)).not.toContain('secret-token')
  })

  it.each([
    ['ios', { is_ios: true, is_android: false }],
    ['android', { is_ios: false, is_android: true }],
    ['web', { is_ios: false, is_android: false }],
  ])('%s: the record of the user says so', { tags: 'everywhere' }, async (platform, flags) => {
    const { call, made: payer } = await startWith(start, newUser)
    const { body } = await register(call, payer, { platform, token: 'one' })
    expect(await flagsOf(call, payer)).toEqual(flags)
    await call('DELETE', `${REGISTRATIONS}/${body.id}`, { token: payer.token, headers: { 'x-device-token': 'one' } })
    expect(await flagsOf(call, payer)).toEqual({ is_ios: false, is_android: false })
  })

  it('takes a session for its user', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, payer.email)
    const id = await registerDevice(call, { session })
    const { registrations } = (await call('GET', REGISTRATIONS, { session })).body
    expect(registrations).toEqual([expect.objectContaining({ id, name: null })])
    expect(await devicesOf(call, payer)).toEqual(registrations)
  })

  it('a known token keeps its device and updates its name and platform', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const first = (await register(call, payer, { platform: 'ios', token: 'one', name: 'Old' })).body
    const again = (await register(call, payer, { platform: 'android', token: 'one', name: 'New' })).body
    expect(again).toEqual({ ...first, platform: 'android', name: 'New' })
    expect(await devicesOf(call, payer)).toEqual([again])
    expect(await flagsOf(call, payer)).toEqual({ is_ios: false, is_android: true })
    expect((await register(call, payer, { platform: 'android', token: 'one' })).body.name).toBe('New')
  })

  it('creates one device in 10 calls at once', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const answers = await Promise.all(Array.from({ length: 10 }, () => registerDevice(call, payer)))
    expect(new Set(answers).size).toBe(1)
    expect(await devicesOf(call, payer)).toHaveLength(1)
  })

  it('a phone may belong to two users, and each sees only their own device', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const [ada, bob] = [await newPayer(call, seller), await newPayer(call, seller)]
    const ids = [await registerDevice(call, ada, 'shared'), await registerDevice(call, bob, 'shared')]
    expect((await devicesOf(call, ada)).map(({ id }: { id: number }) => id)).toEqual([ids[0]])
    expect((await devicesOf(call, bob)).map(({ id }: { id: number }) => id)).toEqual([ids[1]])
  })

  it('a user has at most 20: a further one is 409, and a known one is not', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const from = 'token-0'
    for (let n = 0; n < 20; n++) await registerDevice(call, payer, `token-${n}`, { from })
    await call('DELETE', '/_sandbox/outbox')
    const sent = { token: payer.token, body: { fcmToken: 'another' } }
    expectProblem(await register(call, payer, { platform: 'web', token: 'another' }), 409, 'too_many_devices')
    expectProblem(await call('POST', '/v3/pay/notifications/register', sent), 409, 'too_many_devices')
    expect((await register(call, payer, { platform: 'web', token: 'token-3' })).status).toBe(201)
    expect((await call('GET', '/_sandbox/outbox')).body.messages).toEqual([])
  })

  it.each([
    ['platform', { platform: 'windows', token: 'one' }],
    ['token', { platform: 'ios', token: '' }],
    ['token', { platform: 'ios', token: 'two words' }],
    ['token', { platform: 'ios', token: 'é' }],
    ['token', { platform: 'ios', token: 'x'.repeat(4097) }],
    ['name', { platform: 'ios', token: 'one', name: 'x'.repeat(256) }],
  ])('a wrong %s is 400 and names it: %j', async (field, body) => {
    const { call } = await start()
    const answer = await register(call, await newPayer(call, await newSeller(call)), body)
    expectProblem(answer, 400, 'field_invalid')
    expect(answer.body.field).toBe(field)
  })
})

contract('listRegistrations', (start) => {
  it('GET /v4/notifications/registrations pages through them, newest first', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const ids = []
    const from = 'token-0'
    for (let n = 0; n < 5; n++) ids.unshift(await registerDevice(call, payer, `token-${n}`, { from }))
    const options = { plural: 'registrations', token: payer.token, limit: 2 }
    const pages = await readPages(call, REGISTRATIONS, options)
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
    expect(pages.flat().map(({ id }) => id)).toEqual(ids)
    const after = await call('GET', `${REGISTRATIONS}?after=999999`, { token: payer.token })
    expectProblem(after, 400, 'cursor_invalid')
  })
})

contract('deleteRegistration', (start) => {
  it('DELETE /v4/notifications/registrations/:id removes it, once and only for its user', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const [payer, eve] = [await newPayer(call, seller), await newPayer(call, seller)]
    const [first, second] = [
      await registerDevice(call, payer, 'one'),
      await registerDevice(call, payer, 'two', { from: 'one' }),
    ]
    const headers = { 'x-device-token': 'two' }
    const remove = ({ token }: Payer, id: number) => call('DELETE', `${REGISTRATIONS}/${id}`, { token, headers })
    expectProblem(await remove(eve, first), 404, 'not_found')
    const answer = await remove(payer, first)
    expect([answer.status, answer.text]).toEqual([204, ''])
    expectProblem(await remove(payer, first), 404, 'not_found')
    expect((await devicesOf(call, payer)).map(({ id }: { id: number }) => id)).toEqual([second])
    expect(await flagsOf(call, payer)).toEqual({ is_ios: true, is_android: false })
  })

  it("the user's log has its registration and its removal", async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const id = await registerDevice(call, payer)
    await registerDevice(call, payer)
    const headers = { 'x-device-token': 'device-token' }
    await call('DELETE', `${REGISTRATIONS}/${id}`, { token: payer.token, headers })
    const { events } = (await call('GET', '/v4/events', { token: payer.token })).body
    expect(
      events
        .filter(({ type }: { type: string }) => type.startsWith('second_factor.'))
        .map(({ type, subject }: { type: string; subject: string }) => [type, subject]),
    ).toEqual([
      ['second_factor.device_removed', `device:${id}`],
      ['second_factor.device_added', `device:${id}`],
    ])
  })
})

contract('registerPushToken', (start) => {
  const path = '/v3/pay/notifications/register'

  it('POST /v3/pay/notifications/register registers a device as an existing client does', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    const body = { fcmToken: 'fcm:APA91b', platform: 'android', deviceId: 'pixel-8' }
    const answer = await call('POST', path, { token: payer.token, body })
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        success: true,
        message: 'The device is registered.',
        deviceId: 'pixel-8',
        platform: 'android',
        registeredAt: at,
      },
    ])
    expect(await flagsOf(call, payer)).toEqual({ is_ios: false, is_android: true })
  })

  it('needs only the token, and names the device by its id', { tags: 'everywhere' }, async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const { body } = await call('POST', path, { token: payer.token, body: { fcmToken: 'one' } })
    const [device] = await devicesOf(call, payer)
    expect([body.deviceId, body.platform]).toEqual([String(device.id), 'mobile'])
    expect(await flagsOf(call, payer)).toEqual({ is_ios: false, is_android: false })
  })

  it('a device with a new token replaces its earlier registration', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const send = (body: object, from = '') =>
      call('POST', path, { token: payer.token, body, headers: { 'x-device-token': from } })
    await send({ fcmToken: 'one', deviceId: 'phone', platform: 'ios' })
    const [before] = await devicesOf(call, payer)
    expect((await send({ fcmToken: 'two', deviceId: 'phone', platform: 'ios' }, 'one')).body.deviceId).toBe('phone')
    const after = await devicesOf(call, payer)
    expect(after).toHaveLength(1)
    expect(after[0].id).not.toBe(before.id)
    await send({ fcmToken: 'one', deviceId: 'tablet' }, 'two')
    expect(await devicesOf(call, payer)).toHaveLength(2)
  })

  it('refuses an invalid fcmToken, platform or deviceId', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    for (const [field, body] of [
      ['fcmToken', { platform: 'ios' }],
      ['fcmToken', { fcmToken: '' }],
      ['platform', { fcmToken: 'one', platform: 'Android' }],
      ['deviceId', { fcmToken: 'one', deviceId: 'x'.repeat(256) }],
    ] as const) {
      const answer = await call('POST', path, { token: payer.token, body })
      expectProblem(answer, 400, 'field_invalid')
      expect([answer.body.field, answer.body.message]).toEqual([field, answer.body.error])
    }
  })
})

contract('openDeviceLink', (start) => {
  /** A user with one device, and the link by which another is confirmed. */
  async function world() {
    const { call } = await start()
    await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    await registerDevice(call, payer)
    const id = await registerDevice(call, payer, 'new-token')
    return { call, payer, id, path: await confirmLink(call, payer) }
  }

  const confirmLink = async (call: Call, { email }: Payer): Promise<string> => {
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&kind=mail`)).body
    const [link] = messages.flatMap(({ links }: { links: string[] }) => links)
    return link.slice(link.indexOf('/v4/'))
  }

  const answer = (call: Call, path: string, answer: string) => {
    const token = new URLSearchParams(path.split('?')[1]).get('token') as string
    return call('POST', path.split('?')[0] as string, { form: { token, answer } })
  }

  const again = async (call: Call, { clientId, clientSecret, ...payer }: Payer): Promise<Payer> => ({
    ...payer,
    clientId,
    clientSecret,
    token: await tokenFor(call, clientId, clientSecret),
  })

  it('GET …/confirm shows the device, and confirms it after 24 hours', { tags: 'everywhere' }, async () => {
    const { call, payer, id, path } = await world()
    expect((await devicesOf(call, payer))[0]).toMatchObject({ id, active: false })
    const early = await call('GET', path)
    expect([early.status, early.text.includes('Confirm</button>')]).toEqual([200, false])
    expect(early.text).toContain('Add a device')
    expectProblem(await answer(call, path, 'confirm'), 409, 'link_early')
    await advance(call, '24h')
    expect((await call('GET', path)).text).toContain('Confirm</button>')
    const confirmed = await answer(call, path, 'confirm')
    for (const text of ['Confirmed', 'The device was added.']) expect(confirmed.text).toContain(text)
    for (const over of [await call('GET', path), await answer(call, path, 'confirm')])
      expectProblem(over, 404, 'not_found')
    const page = await call('GET', path, { headers: { accept: 'text/html' } })
    expect(page.text).toContain('This link is wrong, or the change was already confirmed or rejected.')
    expect((await devicesOf(call, await again(call, payer)))[0]).not.toHaveProperty('active')
  })

  it('rejects at once, and ends after eight days', async () => {
    const { call, payer, path } = await world()
    const rejected = await answer(call, path, 'reject')
    for (const text of ['Rejected', 'Nothing was changed.']) expect(rejected.text).toContain(text)
    expect(await devicesOf(call, payer)).toHaveLength(1)
    const headers = { 'x-device-token': 'device-token' }
    const other = await registerDevice(call, payer, 'third-token')
    const next = await confirmLink(call, payer)
    await advance(call, '192h')
    for (const over of [await call('GET', next), await answer(call, next, 'confirm')])
      expectProblem(over, 410, 'link_expired')
    const page = await call('GET', next, { headers: { accept: 'text/html' } })
    expect(page.text).not.toContain('This link is wrong')
    const { token } = await again(call, payer)
    expect((await call('DELETE', `${REGISTRATIONS}/${other}`, { token, headers })).status).toBe(204)
  })

  it('confirms a removal in the same way', async () => {
    const { call, payer, path } = await world()
    await answer(call, path, 'reject')
    const [{ id }] = await devicesOf(call, payer)
    expect((await call('DELETE', `${REGISTRATIONS}/${id}`, { token: payer.token })).status).toBe(204)
    expect(await devicesOf(call, payer)).toHaveLength(1)
    const removal = await confirmLink(call, payer)
    expect((await call('GET', removal)).text).toContain('Remove a device')
    await advance(call, '24h')
    expect((await answer(call, removal, 'confirm')).text).toContain('The device was removed.')
    expect(await devicesOf(call, await again(call, payer))).toEqual([])
  })

  it("is in the user's log, whatever becomes of the change", async () => {
    const { call, payer, id, path } = await world()
    const [, { id: first }] = await devicesOf(call, payer)
    await answer(call, path, 'reject')
    await call('DELETE', `${REGISTRATIONS}/${first}`, { token: payer.token })
    await answer(call, await confirmLink(call, payer), 'reject')
    await call('DELETE', `${REGISTRATIONS}/${first}`, { token: payer.token })
    const removal = await confirmLink(call, payer)
    await advance(call, '24h')
    await answer(call, removal, 'confirm')
    const { token } = await again(call, payer)
    const { events } = (await call('GET', '/v4/events', { token })).body
    const changes = events.filter(({ type }: { type: string }) => type.startsWith('second_factor.device_'))
    expect(changes.map(({ type, subject }: { type: string; subject: string }) => [type, subject])).toEqual([
      ['second_factor.device_removed', `device:${first}`],
      ['second_factor.device_removal_waits', `device:${first}`],
      ['second_factor.device_removal_waits', `device:${first}`],
      ['second_factor.device_refused', `device:${id}`],
      ['second_factor.device_waits', `device:${id}`],
      ['second_factor.device_added', `device:${first}`],
    ])
    const about = { actor: `user:${payer.id}`, data: { platform: expect.any(String), name: null } }
    for (const event of changes) expect(event).toMatchObject(about)
  })

  it('replaces the earlier registration of the same device only once it is confirmed', async () => {
    const { call } = await start()
    await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    const body = (fcmToken: string) => ({ fcmToken, deviceId: 'phone-7' })
    const put = (fcmToken: string) =>
      call('POST', '/v3/pay/notifications/register', { token: payer.token, body: body(fcmToken) })
    await put('first-token')
    const [{ id }] = await devicesOf(call, payer)
    await put('second-token')
    expect((await devicesOf(call, payer)).map(({ active }: { active?: false }) => active)).toEqual([false, undefined])
    const link = await confirmLink(call, payer)
    await advance(call, '24h')
    await answer(call, link, 'confirm')
    const left = await devicesOf(call, await again(call, payer))
    expect(left).toHaveLength(1)
    expect(left[0].id).not.toBe(id)
  })

  it('is not asked for where too much was asked of the user', async () => {
    const { call, payer, id } = await world()
    const [, first] = await devicesOf(call, payer)
    const tries = () => [
      register(call, payer, { platform: 'web', token: 'more' }),
      call('POST', '/v3/pay/notifications/register', { token: payer.token, body: { fcmToken: 'more' } }),
      call('DELETE', `${REGISTRATIONS}/${first.id}`, { token: payer.token }),
    ]
    for (let n = 0; n < 4; n++)
      await call('POST', '/v4/authentication-requests', { token: payer.token, body: { action: 'x', detail: {} } })
    for (const refused of tries()) expectProblem(await refused, 429, 'too_many_pending')
    await advance(call, '2m')
    for (const refused of tries()) expectProblem(await refused, 429, 'too_many_mails')
    expect((await devicesOf(call, payer)).map((device: { id: number }) => device.id)).toEqual([id, first.id])
  })
})
