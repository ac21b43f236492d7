import { ContentHash, component, z } from '../../../http/fields/schema.js'
import { noContent, streamed } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { control } from '../control.js'
import { snapshotText } from '../snapshot.js'
import { snapshotControls } from './controls.js'
import { RewindShape, SavedSnapshotShape } from './shapes.js'

const NamedSnapshotShape = component('NamedSnapshot', {
  name: z.string(),
  at: z.IsoTime,
  rows: z.int(),
  note: z.optional(z.string()),
})

const ComparedRow = z.record(z.string(), z.unknown())

const NamePath = z.object({ name: z.string() })

export const snapshotRoutes = defineRoutes('sandbox', {
  saveNamedState: route({
    ...control,
    summary: 'Save the state under a name.',
    method: 'POST',
    path: '/_sandbox/snapshots',
    body: SavedSnapshotShape,
    status: 201,
    result: NamedSnapshotShape,
    errors: ['already_exists', 'sandbox_full'],
    handle: ({ body: { name, ...options } }, service) => snapshotControls(service).snapshots.save(name, options),
  }),

  listNamedStates: route({
    ...control,
    summary: 'List the named snapshots, the oldest first.',
    method: 'GET',
    path: '/_sandbox/snapshots',
    result: z.object({ snapshots: z.array(NamedSnapshotShape) }),
    handle: async (_call, service) => ({ snapshots: await snapshotControls(service).snapshots.list() }),
  }),

  exportNamedState: route({
    ...control,
    summary: 'Read a named snapshot as one JSON document.',
    method: 'GET',
    path: '/_sandbox/snapshots/:name',
    params: NamePath,
    result: z.object({
      schema: z.optional(z.int()),
      counters: z.record(z.string(), z.int()),
      rows: z.record(z.string(), z.array(z.unknown())),
    }),
    errors: ['not_found'],
    async handle({ params }, service) {
      const state = await snapshotControls(service).snapshots.export(params.name)
      return streamed(snapshotText(state), 'application/json')
    },
  }),

  removeNamedState: route({
    ...control,
    summary: 'Remove a named snapshot.',
    method: 'DELETE',
    path: '/_sandbox/snapshots/:name',
    params: NamePath,
    status: 204,
    errors: ['not_found'],
    async handle({ params }, service) {
      await snapshotControls(service).snapshots.remove(params.name)
      return noContent()
    },
  }),

  compareNamedStates: route({
    ...control,
    summary: 'Compare two named snapshots: the rows and balances that differ. `current` is the state now.',
    method: 'GET',
    path: '/_sandbox/snapshots/:a/compare/:b',
    params: z.object({ a: z.string(), b: z.string() }),
    result: z.object({
      rows: z.record(
        z.string(),
        z.object({
          added: z.array(ComparedRow),
          removed: z.array(ComparedRow),
          changed: z.array(z.object({ was: ComparedRow, is: ComparedRow })),
          more: z.int(),
        }),
      ),
      balances: z.array(z.object({ hostname: z.Hostname, dq: ContentHash, was: z.number(), is: z.number() })),
    }),
    errors: ['not_found'],
    handle: async ({ params }, service) => {
      const { rows, balances } = await snapshotControls(service).snapshots.compare(params.a, params.b)
      const shown = Object.entries(rows).map(([name, { added, removed, changed, more }]) => [
        name,
        { added: [...added], removed: [...removed], changed: [...changed], more },
      ])
      return { rows: Object.fromEntries(shown), balances: [...balances] }
    },
  }),

  rewindSandbox: route({
    ...control,
    summary: 'Return to a named snapshot, or to the state after a request, with its clock and key.',
    method: 'POST',
    path: '/_sandbox/rewind',
    body: RewindShape,
    status: 204,
    errors: ['not_found', 'rewind_refused'],
    async handle({ body }, service) {
      await snapshotControls(service).rewind(body.to)
      return noContent()
    },
  }),
})
