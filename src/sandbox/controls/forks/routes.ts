import { component, z } from '../../../http/fields/schema.js'
import { noContent } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { control } from '../control.js'
import { forksOf } from './served-forks.js'

const ForkShape = component('Fork', { id: z.TextId, url: z.Link })

const forkingRoute = (path: '/_sandbox/fork' | '/_sandbox/forks') =>
  route({
    ...control,
    summary: 'Fork the sandbox: a service of its own with the same state, reached at `url`.',
    method: 'POST',
    path,
    status: 201,
    result: ForkShape,
    errors: ['sandbox_full'],
    handle: (_call, service) => forksOf(service).create(),
  })

export const forkRoutes = defineRoutes('sandbox', {
  createFork: forkingRoute('/_sandbox/forks'),

  forkSandbox: forkingRoute('/_sandbox/fork'),

  listForks: route({
    ...control,
    summary: 'List the forks that were created over HTTP.',
    method: 'GET',
    path: '/_sandbox/forks',
    result: z.object({ forks: z.array(ForkShape) }),
    handle: async (_call, service) => ({ forks: [...forksOf(service).list()] }),
  }),

  removeFork: route({
    ...control,
    summary: 'Close a fork, and drop its state.',
    method: 'DELETE',
    path: '/_sandbox/forks/:id',
    params: z.object({ id: z.TextId }),
    status: 204,
    errors: ['not_found'],
    async handle({ params }, service) {
      await forksOf(service).remove(params.id)
      return noContent()
    },
  }),
})
