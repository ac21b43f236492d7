import type { TextsOf } from '../../http/openapi/texts.js'
import type { notificationRoutes } from './routes.js'

export const notificationTexts: TextsOf<typeof notificationRoutes> = {
  operations: {
    createRegistration:
      'For a user, by access token or session. Every change of devices is told by mail. A retry with the same token changes nothing more.',
    listRegistrations: 'For a user, by access token or session.',
    deleteRegistration:
      'For a user, by access token or session. Until it is confirmed, the device stays. Every change of devices is told by mail.',
    registerPushToken:
      'For a user, by access token or session. The answer is the same for a device that must be confirmed first.',
    openDeviceLink: 'For the reader of the mail. It changes nothing.',
    answerDeviceLink: 'For the reader of the mail. The link works once.',
  },
  fields: {
    platform: 'The platform of the device.',
    token: 'The push token of the device. The device sends it as `X-Device-Token`.',
    name: 'The name of the device.',
    active: 'False: the device waits to be confirmed. Absent: it is active.',
    registrations: 'The devices, newest first.',
    fcmToken: 'The token of Firebase Cloud Messaging.',
    deviceId: 'The id that the app gave to the device. Default: the id of the registration.',
    success: 'Always true.',
    message: 'A sentence for people.',
    registeredAt: 'When it was registered, in Unix milliseconds.',
    'openDeviceLink.token': 'The secret of the mailed link.',
    'answerDeviceLink.token': 'The secret of the mailed link.',
  },
  components: {
    Device: { is: 'A device that answers for its user.', name: 'The name of the device. Null: it has none.' },
  },
}
