import { expect, it } from 'vitest'
import { attacked } from '../support/scenes/attacked.js'
import { expectProblem } from '../support/scenes/market.js'
import { answerFromDevice, registerDevice } from '../support/scenes/second-factor.js'
import { newReader, newSeller } from '../support/scenes/world.js'

/** Devices that are registered while there is room, and confirmed when there is none any more. */

const startService = attacked()
const MOST = 20

it('a user has at most twenty active devices, however many wait for a confirmation', async () => {
  const { call } = await startService()
  const { id: user, token } = await newReader(call, await newSeller(call))
  await registerDevice(call, { token }, 'first')
  const post = (body: object, headers: Record<string, string> = {}) =>
    call('POST', '/v4/notifications/registrations', { token, body: { platform: 'web', ...body }, headers })
  const asked: number[] = []
  for (let n = 0; n < 3; n++) {
    expect((await post({ token: `waiting-${n}` })).status).toBe(201)
    const [{ subject }] = (await call('GET', '/v4/events?type=second_factor.requested&limit=1', { token })).body.events
    asked.push(Number(subject.split(':')[1]))
  }
  const fromFirst = { 'x-device-token': 'first' }
  for (let n = 2; n < MOST; n++) expect((await post({ token: `more-${n}` }, fromFirst)).status).toBe(201)
  for (const id of asked) await answerFromDevice(call, { token }, { id, device: 'first' })
  const { registrations } = (await call('GET', '/v4/notifications/registrations?limit=100', { token })).body
  const active = registrations.filter((each: { active?: boolean }) => each.active !== false)
  expect([active.length, registrations.length]).toEqual([MOST, MOST])
  const { events } = (await call('GET', '/v4/events?type=second_factor.device_refused', { token })).body
  expect(events).toHaveLength(2)
  expectProblem(await post({ token: 'one-more' }, fromFirst), 409, 'too_many_devices')
  expect(user).toEqual(expect.any(Number))
})

it('an unconfirmed device keeps no place for another', async () => {
  const { call } = await startService()
  const { token } = await newReader(call, await newSeller(call))
  await registerDevice(call, { token }, 'first')
  const register = (fcmToken: string, deviceId: string, headers: Record<string, string> = {}) =>
    call('POST', '/v3/pay/notifications/register', { token, body: { fcmToken, deviceId }, headers })
  expect((await register('waiting', 'phone')).status).toBe(200)
  for (let n = 1; n < MOST; n++) await registerDevice(call, { token }, `more-${n}`, { from: 'first' })
  expectProblem(await register('another', 'phone', { 'x-device-token': 'first' }), 409, 'too_many_devices')
})
