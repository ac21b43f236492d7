import type { ServiceContext } from '../../http/context.js'
import { component, IdPath, lineUpTo, listing, UnixSeconds, z } from '../../http/fields/schema.js'
import { refusedBy } from '../../http/pages/html.js'
import { noContent } from '../../http/reply.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import { confirmedPage, confirmPage, refusedChangePage } from './confirm-page.js'
import {
  answerDeviceLink,
  changeOfLink,
  createRegistration,
  type DeviceChanger,
  deleteRegistration,
  listRegistrations,
  platforms,
  showDevice,
} from './registration.js'

const Platform = z.enum(platforms)

/** Every token fits in a header, because answers send it as `X-Device-Token`. */
const Token = z.string().check(z.regex(/^[\x21-\x7e]{1,4096}$/, '1 to 4096 printable ASCII characters without spaces'))
const Name = lineUpTo(255)

const Registration = component('Device', {
  id: z.Id,
  platform: Platform,
  name: z.nullable(z.string()),
  created_at: UnixSeconds,
})

type Caller = Pick<Call<unknown, unknown, unknown, 'user' | 'session'>, 'principal' | 'session' | 'headers'>

const changerOf = ({ principal, session, headers }: Caller, { clock }: ServiceContext): DeviceChanger => ({
  userId: principal.id,
  deviceToken: headers.get('x-device-token'),
  sessionId: session?.id,
  at: clock.now(),
})

const users = { evidence: 'designed', versions: ['v4'], auth: ['user', 'session'] } as const

const link = {
  evidence: 'designed',
  path: '/notifications/registrations/:id/confirm',
  versions: ['v4'],
  auth: ['guest'],
  params: IdPath,
  produces: ['text/html'],
  refused: refusedBy(refusedChangePage),
} as const

export const notificationRoutes = defineRoutes('notifications', {
  createRegistration: route({
    ...users,
    summary:
      'Register a device on which the user answers requests. Sending the same token again changes its name and platform. The first device is active at once, and so is one registered with X-Device-Token of an active device. Any other must be confirmed on an active device, or after 24 hours through a mailed link.',
    method: 'POST',
    path: '/notifications/registrations',
    body: z.object({ platform: Platform, token: z.secret(Token), name: z.optional(Name) }),
    deviceToken: 'optional',
    status: 201,
    result: Registration,
    errors: ['too_many_devices', 'too_many_pending', 'too_many_mails'],
    idempotent: true,
    async write(tx, call, service) {
      return showDevice(await createRegistration(tx, { ...call.body, ...changerOf(call, service) }, service))
    },
  }),
  listRegistrations: route({
    ...users,
    summary: "List the user's devices, newest first. Devices that nobody has confirmed have `active: false`.",
    path: '/notifications/registrations',
    ...listing('registrations', z.object({ ...Registration.shape, active: z.optional(z.literal(false)) })),
    read: (tx, { query, principal }) => listRegistrations(tx, principal.id, query),
  }),
  deleteRegistration: route({
    ...users,
    summary:
      'Remove a device. With X-Device-Token of an active device this happens at once. Otherwise it must be confirmed on an active device, or after 24 hours through a mailed link.',
    method: 'DELETE',
    path: '/notifications/registrations/:id',
    params: IdPath,
    deviceToken: 'optional',
    status: 204,
    errors: ['not_found', 'too_many_pending', 'too_many_mails'],
    async write(tx, call, service) {
      await deleteRegistration(tx, { id: call.params.id, ...changerOf(call, service) }, service)
      return noContent()
    },
  }),
  registerPushToken: route({
    summary: 'Register a device by its FCM token. This replaces the token that the device registered before.',
    evidence: 'observed',
    method: 'POST',
    path: '/pay/notifications/register',
    versions: ['v3'],
    auth: ['user', 'session'],
    deviceToken: 'optional',
    repeatsErrorAsMessage: true,
    body: z.object({ fcmToken: z.secret(Token), platform: z.optional(Platform), deviceId: z.optional(Name) }),
    result: z.object({
      success: z.literal(true),
      message: z.string(),
      deviceId: z.string(),
      platform: Platform,
      registeredAt: z.int(),
    }),
    errors: ['too_many_devices', 'too_many_pending', 'too_many_mails'],
    idempotent: true,
    async write(tx, call, service) {
      const { fcmToken: token, platform = 'mobile', deviceId } = call.body
      const device = await createRegistration(tx, { token, platform, deviceId, ...changerOf(call, service) }, service)
      return {
        success: true as const,
        message: 'The device is registered.',
        deviceId: device.device_id ?? String(device.id),
        platform: device.platform,
        registeredAt: device.created_at,
      }
    },
  }),
  openDeviceLink: route({
    ...link,
    summary: 'Open the page of a mailed link: the device to add or remove, and the buttons Confirm and Reject.',
    method: 'GET',
    query: z.object({ token: z.secret(z.string()) }),
    errors: ['not_found', 'link_expired'],
    async read(tx, { params, query: { token } }, { clock }) {
      const at = clock.now()
      return confirmPage(await changeOfLink(tx, { ...params, token, at }), token, at)
    },
  }),
  answerDeviceLink: route({
    ...link,
    summary: 'Reject a change of devices through the mailed link, or confirm it after 24 hours.',
    method: 'POST',
    body: z.object({ token: z.secret(z.string()), answer: z.enum(['confirm', 'reject']) }),
    errors: ['not_found', 'link_early', 'link_expired'],
    write: async (tx, { params, body }, { clock }) =>
      confirmedPage(await answerDeviceLink(tx, { ...params, ...body, at: clock.now() }), body.answer),
  }),
})
