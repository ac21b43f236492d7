import { Amount, ContentHash, component, z } from '../../../http/fields/schema.js'
import { noContent, reply, streamed } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import {
  ExportFormatShape,
  exportControls,
  exportRange,
  faultControls,
  ReplayShape,
  RequestQueryShape,
  replayControls,
  requestControls,
  streamRequests,
} from '../sandbox.js'
import { ArmedFaultShape, control, FaultShape } from '../shapes.js'

const MessageShape = component('JournalMessage', {
  headers: z.record(z.string(), z.string()),
  body: z.nullable(z.string()),
  cut: z.optional(z.literal(true)),
})

const EffectKindShape = z.enum(['movement', 'event', 'mail', 'push', 'card', 'upstream', 'webhook', 'timer', 'entry'])

const EntryShape = component('JournalEntry', {
  id: z.TextId,
  at: z.IsoTime,
  ms: z.nullable(z.number()),
  origin: z.enum(['http', 'in_process', 'worker', 'msw', 'timer', 'delivery', 'page', 'mcp']),
  ...{ operation_id: z.nullable(z.string()), method: z.string(), path: z.string(), status: z.nullable(z.int()) },
  ...{ code: z.optional(z.string()), principal: z.nullable(z.string()), client_address: z.optional(z.string()) },
  ...{ request: MessageShape, response: MessageShape },
  storage: z.object({ transactions: z.int(), reads: z.int(), writes: z.int(), retries: z.int() }),
  caused: z.array(z.object({ kind: EffectKindShape, id: z.union([z.string(), z.number()]) })),
  ...{ caused_by: z.optional(z.TextId), trace: z.optional(z.TextId), fault: z.optional(z.string()) },
})

const ExampleCallShape = component('ExampleCall', {
  ...{ method: z.string(), path: z.string(), as: z.optional(z.string()) },
  ...{ headers: z.optional(z.record(z.string(), z.string())), body: z.optional(z.unknown()) },
})

const ExplanationShape = component('Explanation', {
  ...{ entry: EntryShape, verdict: z.string(), sentences: z.array(z.string()) },
  facts: z.record(z.string(), z.unknown()),
  fix: z.nullable(
    z.object({
      ...{ operation_id: z.string(), example: ExampleCallShape },
      ...{ between: z.optional(ExampleCallShape), next: z.nullable(ExampleCallShape) },
    }),
  ),
  docs: z.string(),
})

const RequestPath = z.object({ id: z.TextId })
const RangeQuery = { as: z.optional(ExportFormatShape), from: z.optional(z.string()), to: z.optional(z.string()) }

const exportReply = (body: string, as: z.output<typeof ExportFormatShape>) =>
  reply({ body, headers: { 'content-type': as === 'har' ? 'application/har+json' : 'text/plain; charset=utf-8' } })

export const journalRoutes = defineRoutes('sandbox', {
  listRequests: route({
    ...control('GET', '/_sandbox/requests'),
    summary: 'List the journal, newest first. With `Accept: text/event-stream`, follow entries as they end.',
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
      return streamed(await streamRequests({ ...query, after }, ending, service), 'text/event-stream; charset=utf-8')
    },
  }),
  readRequest: route({
    ...control('GET', '/_sandbox/requests/:id'),
    summary: 'Read one entry of the journal by the `X-Request-ID` of its answer.',
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
    ...control('GET', '/_sandbox/requests/:id/explain'),
    summary:
      'Explain why the service answered a request as it did: what was so at that moment, and the call that fixes a refusal.',
    params: RequestPath,
    result: ExplanationShape,
    errors: ['not_found', 'not_bundled'],
    handle: ({ params }, service) => requestControls(service).explain(params.id),
  }),
  clearRequests: route({
    ...control('DELETE', '/_sandbox/requests'),
    summary: 'Empty the journal.',
    status: 204,
    errors: ['not_found'],
    handle: (_call, service) => requestControls(service).clear().then(noContent),
  }),
})

const CausedMovement = component('CausedMovement', { kind: z.string(), amount: Amount, dq: ContentHash })

const Effects = component('ComparedEffects', {
  same: z.boolean(),
  counts: z.array(z.object({ kind: EffectKindShape, was: z.int(), is: z.int() })),
  movements: z.object({ was: z.nullable(z.array(CausedMovement)), is: z.array(CausedMovement) }),
})

export const replayRoutes = defineRoutes('sandbox', {
  replayRequest: route({
    ...control('POST', '/_sandbox/requests/:id/replay'),
    summary: 'Send the request of an entry again, with fresh credentials of the same caller, and compare what happens.',
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

export const faultRoutes = defineRoutes('sandbox', {
  listFaults: route({
    ...control('GET', '/_sandbox/faults'),
    summary: 'List the armed faults, and how often each has happened.',
    result: z.object({ faults: z.array(ArmedFaultShape) }),
    handle: async (_call, service) => ({ faults: await faultControls(service).list() }),
  }),
  armFault: route({
    ...control('POST', '/_sandbox/faults'),
    summary: 'Arm a fault: a failure of requests, or of calls of a port, that a test makes on purpose.',
    body: FaultShape,
    status: 201,
    result: ArmedFaultShape,
    errors: ['field_invalid', 'already_exists'],
    handle: ({ body }, service) => faultControls(service).arm(body),
  }),
  clearFaults: route({
    ...control('DELETE', '/_sandbox/faults'),
    summary: 'Disarm all faults.',
    status: 204,
    handle: (_call, service) => faultControls(service).clear().then(noContent),
  }),
  disarmFault: route({
    ...control('DELETE', '/_sandbox/faults/:id'),
    summary: 'Disarm a fault.',
    params: z.object({ id: z.TextId }),
    status: 204,
    errors: ['not_found'],
    handle: ({ params }, service) => faultControls(service).disarm(params.id).then(noContent),
  }),
})
