import type { TextsOf } from '../../../http/openapi/texts.js'
import type { peopleRoutes } from './routes.js'

export const peopleTexts: TextsOf<typeof peopleRoutes> = {
  operations: {
    signInAsUser:
      'For a test that needs a session and not the way to it. Nobody gets a mail or a push. An unknown email creates a proven user, like the first code that is entered.',
    setPhone: 'It plays the phone of a user from now on. Pending requests are answered too.',
    readPhone: 'It changes nothing.',
    approveOnPhone: 'It plays the phone of a user. Without a body, it answers all pending requests.',
    rejectOnPhone: 'It plays the phone of a user. Without a body, it answers all pending requests.',
    approveAsUser: 'It plays the user. The approval must be pending.',
    rejectAsUser: 'It plays the user. The approval must be pending.',
  },
  fields: {
    headers: 'The headers that identify the session.',
    'headers.x-session-id': 'The id of the session.',
    mode: 'How the phone answers. `manual`: only when it is told to. `ignore`: never.',
    after_seconds: 'How many seconds it waits before it answers.',
    has_device: 'Whether the user has a device.',
    requests: 'The pending authentication requests.',
    id: 'The id of the approval.',
  },
  components: {
    PhoneRequest: { is: 'Which request to answer.', id: 'The id of the request. Absent: all that are pending.' },
    AnsweredRequests: { is: 'The answered requests.', requests: 'The requests as they are now.' },
  },
}
