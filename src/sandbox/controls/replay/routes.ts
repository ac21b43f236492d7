import { Amount, ContentHash, component, z } from '../../../http/fields/schema.js'
import { defineRoutes, route } from '../../../http/route.js'
import { control } from '../control.js'
import { EntryShape, RequestPath } from '../journal/shapes.js'
import { ReplayShape, replayControls } from '../requests.js'

const CausedMovement = component('CausedMovement', { kind: z.string(), amount: Amount, dq: ContentHash })

const Effects = component('ComparedEffects', {
  same: z.boolean(),
  counts: z.array(
    z.object({
      kind: z.enum(['movement', 'event', 'mail', 'push', 'card', 'upstream', 'webhook', 'timer', 'entry']),
      was: z.int(),
      is: z.int(),
    }),
  ),
  movements: z.object({ was: z.nullable(z.array(CausedMovement)), is: z.array(CausedMovement) }),
})

export const replayRoutes = defineRoutes('sandbox', {
  replayRequest: route({
    ...control,
    summary: 'Send the request of an entry again, with fresh credentials of the same caller, and compare what happens.',
    method: 'POST',
    path: '/_sandbox/requests/:id/replay',
    params: RequestPath,
    body: ReplayShape,
    result: component('Replay', {
      entry: EntryShape,
      state: z.enum(['now', 'before']),
      diff: z.optional(z.array(z.object({ path: z.string(), was: z.unknown(), is: z.unknown() }))),
      ignored: z.optional(z.array(z.string())),
      effects: Effects,
    }),
    errors: ['not_found', 'not_replayable'],
    handle: ({ params, body }, service) => replayControls(service).replay(params.id, body),
  }),
})
