import { isWeaker } from '../../base/evidence.js'
import type { ServiceContext } from '../../http/context.js'
import { csvReply, jsonReply, prefersJson } from '../../http/csv/csv.js'
import { allDesigned, designed } from '../../http/fields/graded.js'
import { Amount, component, Time, TwinPath, timeOf, z } from '../../http/fields/schema.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import { binderColumns, binderEntries, binderJson, InventoryRecord, inventoryOf, statedTwin } from './binder.js'

const BinderEntry = component('BinderEntry', {
  twistId: z.TextId,
  timestamp: z.IsoTime,
  data: z.object(
    allDesigned({
      entry: z.object(allDesigned({ amount: z.nullable(Amount), fromAddress: z.string(), type: z.string() })),
      entryAuthor: z.string(),
      entryFiles: z.array(z.string()),
      entryOperation: z.enum(['receive', 'send']),
      entryType: z.string(),
    }),
  ),
})

const tableMedia = ['text/csv', 'application/json'] as const

/** The caller's own twin. It is read first, because a streamed answer cannot turn into an error. */
const ownTwinOf = (
  { params, principal }: Call<{ hostname: string }, unknown, unknown, 'account' | 'user' | 'session'>,
  service: ServiceContext,
) => statedTwin(service, principal.owner, params.hostname)

const statement = { versions: ['v4', 'v2'], auth: ['account', 'user', 'session'], params: TwinPath } as const

export const statementRoutes = defineRoutes('twins', {
  readBinder: route({
    summary: 'Stream what a twin received and sent, newest first, as CSV or JSON.',
    evidence: 'documented',
    method: 'GET',
    path: '/twin/:hostname/binder',
    ...statement,
    query: z.object({ from: designed(z.optional(Time)), to: designed(z.optional(Time)) }),
    produces: tableMedia,
    result: designed(z.array(BinderEntry)),
    errors: ['not_found', 'not_owner'],
    async handle(call, service) {
      const span = { from: timeOf('from', call.query.from), to: endOf('to', call.query.to) }
      const pieces = binderEntries(service, await ownTwinOf(call, service), span)
      // The interface shows the binder as CSV alone.
      const isJson = prefersJson(call.headers) && !isWeaker('designed', service.options.evidence)
      if (isJson) return jsonReply(mapBatches(pieces, binderJson))
      const records = mapBatches(pieces, ({ record }) => record)
      return csvReply(binderColumns, records)
    },
  }),
  readInventory: route({
    summary: 'List what a twin holds now, as CSV or JSON.',
    evidence: 'named',
    method: 'GET',
    path: '/twin/:hostname/inventory',
    ...statement,
    produces: tableMedia,
    result: z.array(InventoryRecord),
    errors: ['not_found', 'not_owner'],
    async handle(call, service) {
      const twin = await ownTwinOf(call, service)
      const pieces = await inventoryOf(service, twin)
      return prefersJson(call.headers) ? jsonReply(pieces) : csvReply(Object.keys(InventoryRecord.shape), pieces)
    },
  }),
})

/** Unix seconds include the whole second, because other answers are in seconds. An ISO 8601 date-time is exact. */
function endOf(field: string, time: number | string | undefined): number | undefined {
  const ms = timeOf(field, time)
  return ms !== undefined && /^\d+$/.test(String(time)) ? ms + 999 : ms
}

async function* mapBatches<T, U>(pieces: AsyncIterable<T[]>, change: (item: T) => U): AsyncGenerator<U[]> {
  for await (const piece of pieces) yield piece.map(change)
}
