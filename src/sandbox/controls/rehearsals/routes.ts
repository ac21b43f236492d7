import { z } from '../../../http/fields/schema.js'
import { noContent } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { REHEARSAL_ID, rehearsalControls } from '../rehearsal-controls.js'
import { control, RehearsalReportShape } from '../shapes.js'

const IdPath = z.object({ id: z.string().check(z.regex(REHEARSAL_ID)) })

export const rehearsalRoutes = defineRoutes('sandbox', {
  keepRehearsal: route({
    ...control('PUT', '/_sandbox/rehearsals/:id'),
    summary: 'Keep the report of a rehearsal, or replace it.',
    params: IdPath,
    body: RehearsalReportShape,
    status: 204,
    handle: ({ params, body }, service) => rehearsalControls(service).keep(params.id, body).then(noContent),
  }),
  listRehearsals: route({
    ...control('GET', '/_sandbox/rehearsals'),
    summary: 'List the last rehearsals, the newest first.',
    result: z.object({
      rehearsals: z.array(
        z.object({
          ...{ id: z.TextId, at: z.IsoTime, command: z.string() },
          ...{ running: z.boolean(), runs: z.int(), findings: z.int() },
        }),
      ),
    }),
    handle: async (_call, service) => ({ rehearsals: await rehearsalControls(service).list() }),
  }),
  readRehearsal: route({
    ...control('GET', '/_sandbox/rehearsals/:id'),
    summary: 'Read the report of a rehearsal.',
    params: IdPath,
    result: RehearsalReportShape,
    errors: ['not_found'],
    handle: ({ params }, service) => rehearsalControls(service).read(params.id),
  }),
})
