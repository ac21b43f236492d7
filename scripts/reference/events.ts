import { eventTypes } from '../../src/jobs/events/event-types.js'
import { code, page, prose, table } from './markdown.js'

export const eventsPage = (): string =>
  page(
    '# Events',
    '[`listEvents`](operations/events.md#listevents) lists the events of its caller, and follows them as `text/event-stream`. The service writes an event in the same transaction as the change that it reports. Events are never secrets.',
    'Clients write events of their own with [`createEvent`](operations/events.md#createevent). Their types begin with `client.`.',
    ...table(
      ['type', 'what it reports'],
      Object.entries(eventTypes).map(([type, text]) => [code(type), prose(text)]),
    ),
    'A stream also sends `events.removed` if events after the given one are [kept no longer](../retention.md).',
  )
