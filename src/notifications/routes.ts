import { noContent } from '../http/reply.js'
import { route } from '../http/route.js'
import { IdPath, lineOf, PageQuery, pageOf, UnixSeconds, z } from '../http/schema.js'
import { seconds } from '../time.js'
import { listDevices, platforms, registerDevice, removeDevice, showDevice } from './device.js'

const Platform = z.enum(platforms)

/** As it can be sent back in a header. */
const Token = z.string().check(z.regex(/^[\x21-\x7e]{1,4096}$/, '1 to 4096 printable ASCII characters without spaces'))
const Name = lineOf(255, 0)

const Registration = z.object({
  id: z.int(),
  platform: Platform,
  name: z.nullable(z.string()),
  created_at: UnixSeconds,
})

export const createRegistration = route({
  id: 'createRegistration',
  summary: 'Register a device to be asked on; the same token again changes its name and platform.',
  evidence: 'designed',
  method: 'POST',
  path: '/notifications/registrations',
  versions: ['v4'],
  auth: ['user', 'session'],
  body: z.object({ platform: Platform, token: Token, name: z.optional(Name) }),
  status: 201,
  result: Registration,
  errors: ['too_many_devices'],
  idempotent: true,
  async write(tx, { body, principal }, service) {
    return showDevice(await registerDevice(tx, { ...body, userId: principal.id, at: service.clock.now() }, service))
  },
})

export const listRegistrations = route({
  id: 'listRegistrations',
  summary: "List the user's devices, newest first.",
  evidence: 'designed',
  method: 'GET',
  path: '/notifications/registrations',
  versions: ['v4'],
  auth: ['user', 'session'],
  query: PageQuery,
  result: pageOf('registrations', Registration),
  errors: ['cursor_invalid'],
  read: (tx, { query, principal }) => listDevices(tx, principal.id, query),
})

export const deleteRegistration = route({
  id: 'deleteRegistration',
  summary: 'Remove a device: it is asked no more, and answers nothing.',
  evidence: 'designed',
  method: 'DELETE',
  path: '/notifications/registrations/:id',
  versions: ['v4'],
  auth: ['user', 'session'],
  params: IdPath,
  status: 204,
  errors: ['not_found'],
  async write(tx, { params, principal }, { clock }) {
    await removeDevice(tx, { id: params.id, userId: principal.id, at: clock.now() })
    return noContent()
  },
})

export const registerPushToken = route({
  id: 'registerPushToken',
  summary: 'Register a device by its FCM token, in place of the one that it registered before.',
  evidence: 'observed',
  method: 'POST',
  path: '/pay/notifications/register',
  versions: ['v3'],
  auth: ['user', 'session'],
  body: z.object({ fcmToken: Token, platform: z.optional(Platform), deviceId: z.optional(Name) }),
  result: z.object({
    success: z.literal(true),
    message: z.string(),
    deviceId: z.string(),
    platform: Platform,
    registeredAt: UnixSeconds,
  }),
  errors: ['too_many_devices'],
  idempotent: true,
  async write(tx, { body, principal }, service) {
    const { fcmToken: token, platform = 'web', deviceId } = body
    const order = { userId: principal.id, token, platform, deviceId, at: service.clock.now() }
    const device = await registerDevice(tx, order, service)
    return {
      success: true,
      message: 'The device is registered.',
      deviceId: device.device_id ?? String(device.id),
      platform: device.platform,
      registeredAt: seconds(device.created_at),
    }
  },
})

export default [createRegistration, listRegistrations, deleteRegistration, registerPushToken]
