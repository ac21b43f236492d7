import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../context.js'
import { z } from '../fields/schema.js'
import { defineRoutes, route } from '../route.js'

const probe = { evidence: 'designed', scope: 'meta', method: 'GET', auth: ['none'] } as const

export const probeRoutes = defineRoutes('meta', {
  readLiveness: route({
    ...probe,
    summary: 'Check that the process answers. It touches no storage.',
    path: '/healthz',
    result: z.object({ alive: z.literal(true) }),
    handle: async () => ({ alive: true as const }),
  }),
  readReadiness: route({
    ...probe,
    summary:
      'Check that the service can take requests: it has started and is not closing, its storage works, and its queue has room.',
    path: '/readyz',
    result: z.object({ ready: z.literal(true), waiting: z.int(), queue: z.number() }),
    errors: ['not_ready'],
    async handle(_call, service) {
      const { waiting } = service.intake
      const reason = whyNotReady(service)
      const fields = { waiting: waiting.count, queue: waiting.most }
      if (reason) throw problem('not_ready', { detail: reason, fields, headers: { 'retry-after': '1' } })
      return { ready: true as const, ...fields }
    },
  }),
})

function whyNotReady({ intake: { hasStarted, waiting }, ending, storage }: ServiceContext): string | undefined {
  if (ending.isClosing) return 'It is closing.'
  if (!hasStarted()) return 'It is starting.'
  if (storage.fault) return `Its storage stores nothing: ${storage.fault.reason ?? 'the reason is in its log'}.`
  return waiting.hasRoom ? undefined : 'As many requests wait as may.'
}
