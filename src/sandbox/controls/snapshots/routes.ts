import { ContentHash, component, z } from '../../../http/fields/schema.js'
import { noContent, streamed } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { forksOf } from '../forks.js'
import { control, RewindShape, SavedSnapshotShape } from '../shapes.js'
import { snapshotText } from '../snapshot.js'
import { snapshotControls } from '../state-controls.js'

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
    ...control('POST', '/_sandbox/snapshots'),
    summary: 'Save the state under a name.',
    body: SavedSnapshotShape,
    status: 201,
    result: NamedSnapshotShape,
    errors: ['already_exists', 'sandbox_full'],
    handle: ({ body: { name, ...options } }, service) => snapshotControls(service).snapshots.save(name, options),
  }),
  listNamedStates: route({
    ...control('GET', '/_sandbox/snapshots'),
    summary: 'List the named snapshots, the oldest first.',
    result: z.object({ snapshots: z.array(NamedSnapshotShape) }),
    handle: async (_call, service) => ({ snapshots: await snapshotControls(service).snapshots.list() }),
  }),
  exportNamedState: route({
    ...control('GET', '/_sandbox/snapshots/:name'),
    summary: 'Read a named snapshot as one JSON document.',
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
    ...control('DELETE', '/_sandbox/snapshots/:name'),
    summary: 'Remove a named snapshot.',
    params: NamePath,
    status: 204,
    errors: ['not_found'],
    handle: ({ params }, service) => snapshotControls(service).snapshots.remove(params.name).then(noContent),
  }),
  compareNamedStates: route({
    ...control('GET', '/_sandbox/snapshots/:a/compare/:b'),
    summary: 'Compare two named snapshots: the rows and balances that differ. `current` is the state now.',
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
    ...control('POST', '/_sandbox/rewind'),
    summary: 'Return to a named snapshot, or to the state after a request, with its clock and key.',
    body: RewindShape,
    status: 204,
    errors: ['not_found', 'rewind_refused'],
    handle: ({ body }, service) => snapshotControls(service).rewind(body.to).then(noContent),
  }),
})

const ForkShape = component('Fork', { id: z.TextId, url: z.Link })

const forkingRoute = (path: '/_sandbox/fork' | '/_sandbox/forks') =>
  route({
    ...control('POST', path),
    summary: 'Fork the sandbox: a service of its own with the same state, reached at `url`.',
    status: 201,
    result: ForkShape,
    errors: ['sandbox_full'],
    handle: (_call, service) => forksOf(service).create(),
  })

export const forkRoutes = defineRoutes('sandbox', {
  createFork: forkingRoute('/_sandbox/forks'),
  forkSandbox: forkingRoute('/_sandbox/fork'),
  listForks: route({
    ...control('GET', '/_sandbox/forks'),
    summary: 'List the forks that were created over HTTP.',
    result: z.object({ forks: z.array(ForkShape) }),
    handle: async (_call, service) => ({ forks: [...forksOf(service).list()] }),
  }),
  removeFork: route({
    ...control('DELETE', '/_sandbox/forks/:id'),
    summary: 'Close a fork, and drop its state.',
    params: z.object({ id: z.TextId }),
    status: 204,
    errors: ['not_found'],
    handle: ({ params }, service) => forksOf(service).remove(params.id).then(noContent),
  }),
})
