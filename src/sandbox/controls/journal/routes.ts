import { z } from '../../../http/fields/schema.js'
import { noContent, reply, streamed } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { control } from '../control.js'
import {
  ExportFormatShape,
  exportControls,
  exportRange,
  RequestQueryShape,
  requestControls,
  streamRequests,
} from '../requests.js'
import { EntryShape, ExplanationShape, RequestPath } from './shapes.js'

const RangeQuery = {
  as: z.optional(ExportFormatShape),
  from: z.optional(z.string()),
  to: z.optional(z.string()),
}

const exportReply = (body: string, as: z.output<typeof ExportFormatShape>) =>
  reply({ body, headers: { 'content-type': as === 'har' ? 'application/har+json' : 'text/plain; charset=utf-8' } })

export const journalRoutes = defineRoutes('sandbox', {
  listRequests: route({
    ...control,
    summary: 'List the journal, newest first. With `Accept: text/event-stream`, follow entries as they end.',
    method: 'GET',
    path: '/_sandbox/requests',
    query: z.strictObject({ ...RequestQueryShape.shape, ...RangeQuery }),
    result: z.object({ requests: z.array(EntryShape), next: z.nullable(z.TextId), dropped: z.int() }),
    produces: ['application/json', 'text/event-stream', 'text/plain', 'application/har+json'],
    errors: ['cursor_invalid', 'not_found', 'not_replayable'],
    async handle({ query: { as, from, to, ...query }, headers, ending }, service) {
      if (as !== undefined || from !== undefined || to !== undefined) {
        const { after, limit, ...filter } = query
        return exportReply(...(await exportRange({ ...filter, as, from, to }, service)))
      }
      if (!headers.get('accept')?.includes('text/event-stream')) return requestControls(service).list(query)
      // A client that reconnects sends the id of the last entry that it saw.
      const after = headers.get('last-event-id') ?? query.after
      return streamed(streamRequests({ ...query, after }, ending, service), 'text/event-stream; charset=utf-8')
    },
  }),

  readRequest: route({
    ...control,
    summary: 'Read one entry of the journal by the `X-Request-ID` of its answer.',
    method: 'GET',
    path: '/_sandbox/requests/:id',
    params: RequestPath,
    query: z.strictObject({ as: z.optional(ExportFormatShape) }),
    result: EntryShape,
    produces: ['application/json', 'text/plain', 'application/har+json'],
    errors: ['not_found', 'not_replayable'],
    handle: async ({ params, query: { as } }, service) =>
      as === undefined
        ? requestControls(service).read(params.id)
        : exportReply(await exportControls(service).export(params.id, as), as),
  }),

  explainRequest: route({
    ...control,
    summary:
      'Explain why the service answered a request as it did: what was so at that moment, and the call that fixes a refusal.',
    method: 'GET',
    path: '/_sandbox/requests/:id/explain',
    params: RequestPath,
    result: ExplanationShape,
    errors: ['not_found', 'not_bundled'],
    handle: ({ params }, service) => requestControls(service).explain(params.id),
  }),

  clearRequests: route({
    ...control,
    summary: 'Empty the journal.',
    method: 'DELETE',
    path: '/_sandbox/requests',
    status: 204,
    errors: ['not_found'],
    async handle(_call, service) {
      await requestControls(service).clear()
      return noContent()
    },
  }),
})
