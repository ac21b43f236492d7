import type { TextsOf } from '../../http/openapi/texts.js'
import type { eventRoutes } from './routes.js'

export const eventTexts: TextsOf<typeof eventRoutes> = {
  operations: {
    listEvents:
      'For an account or a user, who sees their own. A stream continues after the event that `Last-Event-ID` or `after` names. One caller keeps up to 50 streams open, fewer while many others have some. With a group of types, a page may have fewer events before the last.',
    readEvent: 'For the owner of the event. Anybody else gets `not_found`.',
    createEvent:
      'For an account or a user. Others never see it. Send an `Idempotency-Key`, so that a retry writes no second one.',
  },
  fields: {
    type: 'Only events of this type, such as `payment.posted`, or of a group, such as `payment.*`.',
    events: 'The events, newest first.',
    'createEvent.type': 'The type. It begins with `client.`.',
    'createEvent.data': 'Up to 8 KiB of JSON.',
  },
  components: {
    Event: {
      is: 'A fact that its owner can read and follow.',
      type: 'What happened.',
      actor: 'Who did it.',
      subject: 'What it happened to. Null: nothing in particular.',
      data: 'What else is known about it.',
    },
  },
}
