import { describe, expect, it, test } from 'vitest'
import type { Call, CallOptions } from '../support/api.js'
import { startHere } from '../support/contract/in-process.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import { answerFromDevice, ask, poll, registerDevice } from '../support/scenes/second-factor.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../support/scenes/sign-in.js'
import { approveOnPhone, newPayer, newSeller, newSession } from '../support/scenes/world.js'

const EMAIL = 'ada@example.test'
const REGISTRATIONS = '/v4/notifications/registrations'

/** A user with a device and a session, and a thief who reads their mail. */
async function world() {
  const { call } = await startHere()
  await stopClock(call)
  const user = await newPayer(call, await newSeller(call), { email: EMAIL })
  const session = await newSession(call, EMAIL)
  const device = await registerDevice(call, { session }, 'own-device')
  return { call, user, session, device }
}

/** What the thief gets by a code alone. */
async function signInByMail(call: Call) {
  const session = await newGuest(call)
  await askCode(call, session, EMAIL)
  const code = await mailedCode(call, EMAIL)
  return { session, code, answer: await verify(call, session, EMAIL, code) }
}

const again = (call: Call, session: string, code: string, request_id?: number) =>
  call('POST', '/v4/session/verify', { session, body: { email: EMAIL, code, request_id } })

const mails = async (call: Call): Promise<{ subject: string; text: string; links: string[] }[]> =>
  (await call('GET', `/_sandbox/outbox?to=${EMAIL}&kind=mail&limit=100`)).body.messages

const devicesOf = async (call: Call, caller: CallOptions) =>
  (await call('GET', REGISTRATIONS, caller)).body.registrations as { id: number; active?: false }[]

describe('whoever reads the mail of a user with a device', () => {
  it('cannot sign in with a mailed code alone', async () => {
    const { call } = await world()
    const { session, answer } = await signInByMail(call)
    expect([answer.status, answer.body.session_id]).toEqual([202, undefined])
    expect((await call('GET', '/v4/session', { session })).body.user).toBeNull()
    expectProblem(await call('GET', '/v4/twins', { session }), 401, 'sign_in_required')
  })

  it('cannot approve their own sign-in in that session or without a device', async () => {
    const { call, user, session: own } = await world()
    const { session, code, answer } = await signInByMail(call)
    const { id } = answer.body.request
    expectProblem(await answerFromDevice(call, { session }, { id, device: 'own-device' }), 401, 'sign_in_required')
    expectProblem(await answerFromDevice(call, { session: own }, { id, device: 'unknown' }), 403, 'device_refused')
    expect((await poll(call, user, id)).body.status).toBe('pending')
    expect((await again(call, session, code, id)).status).toBe(202)
  })

  it('causes one request on the device for each code, however often they send it', async () => {
    const { call } = await world()
    const { session, code } = await signInByMail(call)
    const answers = await Promise.all(Array.from({ length: 6 }, () => again(call, session, code)))
    expect(new Set(answers.map(({ body }) => body.request.id)).size).toBe(1)
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${EMAIL}&kind=push`)).body
    expect(messages).toHaveLength(1)
  })

  it('gets nothing from an approval in a different session, for a different code or for a different action', async () => {
    const { call, user } = await world()
    const first = await signInByMail(call)
    const second = await signInByMail(call)
    await approveOnPhone(call, EMAIL)
    const { id } = second.answer.body.request
    expectProblem(await again(call, first.session, first.code, id), 400, 'field_invalid')
    expect((await again(call, first.session, first.code)).status).toBe(202)
    const forged = (await ask(call, user, { action: 'sign_in', detail: { email: EMAIL } })).body
    await answerFromDevice(call, user, { id: forged.id, device: 'own-device' })
    expectProblem(await again(call, first.session, first.code, forged.id), 400, 'field_invalid')
    expectProblem(await again(call, second.session, wrongCode(second.code), id), 401, 'code_wrong')
    expect((await again(call, second.session, second.code, id)).status).toBe(200)
    expect((await again(call, second.session, second.code, id)).status).not.toBe(200)
  })

  it('cannot start a second request with a rejected code', async () => {
    const { call, user } = await world()
    const { session, code, answer } = await signInByMail(call)
    await call('POST', `/_sandbox/devices/${user.id}/reject`)
    expectProblem(await again(call, session, code, answer.body.request.id), 403, 'rejected')
    expectProblem(await again(call, session, code), 410, 'code_expired')
  })

  it('cannot wear the user down: the service asks about five unapproved sign-ins at most', async () => {
    const { call, user } = await world()
    for (let n = 0; n < 5; n++) {
      await signInByMail(call)
      await call('POST', `/_sandbox/devices/${user.id}/reject`)
    }
    const session = await newGuest(call)
    expectProblem(await askCode(call, session, EMAIL), 429, 'too_many_codes')
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${EMAIL}&kind=push`)).body
    expect(messages).toHaveLength(5)
  })

  it('cannot keep the user from approving their own actions', async () => {
    const { call, user } = await world()
    for (let n = 0; n < 4; n++) await signInByMail(call)
    expect((await ask(call, user)).status).toBe(201)
  })
})

describe('whoever has a session of a user with a device', () => {
  it('cannot add a device that answers, and cannot replace a device', async () => {
    const { call, user, session } = await world()
    const path = '/v3/pay/notifications/register'
    const known = { fcmToken: 'first', deviceId: 'phone' }
    const headers = { 'x-device-token': 'own-device' }
    await call('POST', path, { session, headers, body: known })
    await registerDevice(call, { session }, 'thiefs-device')
    const replaced = await call('POST', path, { session, body: { fcmToken: 'thiefs-other', deviceId: 'phone' } })
    expect([replaced.status, replaced.body.success]).toEqual([200, true])
    const { id } = (await ask(call, user)).body
    for (const device of ['thiefs-device', 'thiefs-other'])
      expectProblem(await answerFromDevice(call, user, { id, device }), 403, 'device_refused')
    expect((await answerFromDevice(call, user, { id, device: 'first' })).status).toBe(200)
  })

  it('cannot claim a device with the token of a waiting one', async () => {
    const { call, session } = await world()
    await registerDevice(call, { session }, 'thiefs-device')
    const id = await registerDevice(call, { session }, 'thiefs-second', { from: 'thiefs-device' })
    expect((await devicesOf(call, { session })).find((device) => device.id === id)?.active).toBe(false)
  })

  it('cannot approve its own device with its session or that device', async () => {
    const { call, user, session } = await world()
    await registerDevice(call, { session }, 'thiefs-device')
    const [push] = (await call('GET', `/_sandbox/outbox?to=${EMAIL}&kind=push`)).body.messages
    const id = Number(push.data.authentication_request_id)
    expectProblem(await answerFromDevice(call, { session }, { id, device: 'own-device' }), 403, 'self_approval')
    expectProblem(await answerFromDevice(call, user, { id, device: 'thiefs-device' }), 403, 'device_refused')
    expect((await devicesOf(call, user)).filter(({ active }) => active === undefined)).toHaveLength(1)
  })

  it('cannot remove a device to sign in without it', async () => {
    const { call, session, device } = await world()
    expect((await call('DELETE', `${REGISTRATIONS}/${device}`, { session })).status).toBe(204)
    expect(await devicesOf(call, { session })).toEqual([expect.objectContaining({ id: device })])
    expect((await signInByMail(call)).answer.status).toBe(202)
  })

  it('cannot hide: each try is mailed, with a link that rejects it at once or confirms it after a day', async () => {
    const { call, session, device } = await world()
    await registerDevice(call, { session }, 'thiefs-device')
    await call('DELETE', `${REGISTRATIONS}/${device}`, { session })
    const told = (await mails(call)).map(({ subject }) => subject).filter((subject) => !subject.includes('code'))
    expect(told).toEqual(['Confirm the removal of a device', 'Confirm a new device', 'A device was added'])
    const [removal, addition] = (await mails(call)).flatMap(({ links }) => links) as [string, string]
    for (const [link, answer, status] of [
      [removal, 'confirm', 409],
      [removal, 'reject', 200],
      [addition, 'reject', 200],
      [addition, 'confirm', 404],
    ] as const) {
      const url = new URL(link)
      const form = { answer, token: url.searchParams.get('token') ?? '' }
      expect((await call('POST', url.pathname, { form })).status).toBe(status)
    }
    expect(await devicesOf(call, { session })).toEqual([expect.objectContaining({ id: device })])
  })

  it('cannot put a link into a notice through the name of a device', async () => {
    const { call, session } = await world()
    const body = { platform: 'web', token: 'thiefs', name: 'https://evil.example/x' }
    await call('POST', REGISTRATIONS, { session, body })
    const [mail] = await mails(call)
    expect(mail?.text).not.toContain('https://evil')
    expect(mail?.links).toHaveLength(1)
  })
})

test("the user's device adds and removes others, and every change is mailed", async () => {
  const { call, user, session, device } = await world()
  const next = await registerDevice(call, { session }, 'next')
  await approveOnPhone(call, EMAIL)
  expect((await devicesOf(call, user)).map(({ id, active }) => [id, active])).toEqual([
    [next, undefined],
    [device, undefined],
  ])
  await call('DELETE', `${REGISTRATIONS}/${device}`, { session })
  await approveOnPhone(call, EMAIL)
  expect((await devicesOf(call, user)).map(({ id }) => id)).toEqual([next])
  const told = (await mails(call)).map(({ subject }) => subject).filter((subject) => !subject.includes('code'))
  expect(told.slice(0, 4)).toEqual([
    'A device was removed',
    'Confirm the removal of a device',
    'A device was added',
    'Confirm a new device',
  ])
})

test('a device disappears when the user rejects it', async () => {
  const { call, user, session } = await world()
  await registerDevice(call, { session }, 'thiefs-device')
  await call('POST', `/_sandbox/devices/${user.id}/reject`)
  expect(await devicesOf(call, user)).toHaveLength(1)
})

test('invitations, requests and codes do not use up the notices about devices', async () => {
  const { call, user, session } = await world()
  const sender = await newPayer(call, await newSeller(call), { balance: 10 })
  for (let n = 0; n < 6; n++) {
    await call('POST', '/v4/transfer', { token: sender.token, body: { address: EMAIL, amount: 1 } })
    await askCode(call, await newGuest(call), EMAIL)
    const { id } = (await ask(call, user)).body
    if (id) await answerFromDevice(call, user, { id, verb: 'reject', device: 'own-device' })
  }
  const headers = { 'x-device-token': 'own-device' }
  await call('POST', REGISTRATIONS, { session, headers, body: { platform: 'ios', token: 'next' } })
  expect((await mails(call))[0]?.subject).toBe('A device was added')
})

test('a device from an older version still answers, and is asked at a sign-in', async () => {
  const { call, user } = await world()
  const snapshot = (await call('GET', '/_sandbox/snapshot')).body
  for (const row of snapshot.rows.devices) delete row.change
  expect((await call('PUT', '/_sandbox/snapshot', { body: snapshot })).status).toBeLessThan(300)
  const { session, code, answer } = await signInByMail(call)
  expect(answer.status).toBe(202)
  const { id } = answer.body.request
  expect((await answerFromDevice(call, user, { id, device: 'own-device' })).status).toBe(200)
  await advance(call, '1m')
  expect((await again(call, session, code, id)).status).toBe(200)
})

test('whoever creates a user for an address cannot lock out its owner with a device', async () => {
  const { call } = await startHere()
  const thief = await newPayer(call, await newSeller(call), { email: EMAIL })
  await registerDevice(call, thief, 'thiefs-device')
  const { answer } = await signInByMail(call)
  expect([answer.status, answer.body.user.email]).toEqual([200, EMAIL])
})
