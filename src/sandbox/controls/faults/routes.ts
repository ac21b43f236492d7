import { z } from '../../../http/fields/schema.js'
import { noContent } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { control } from '../control.js'
import { faultControls } from '../requests.js'
import { ArmedFaultShape, FaultShape } from '../shapes.js'

export const faultRoutes = defineRoutes('sandbox', {
  listFaults: route({
    ...control,
    summary: 'List the armed faults, and how often each has happened.',
    method: 'GET',
    path: '/_sandbox/faults',
    result: z.object({ faults: z.array(ArmedFaultShape) }),
    handle: async (_call, service) => ({ faults: await faultControls(service).list() }),
  }),

  armFault: route({
    ...control,
    summary: 'Arm a fault: a failure of requests, or of calls of a port, that a test makes on purpose.',
    method: 'POST',
    path: '/_sandbox/faults',
    body: FaultShape,
    status: 201,
    result: ArmedFaultShape,
    errors: ['field_invalid', 'already_exists'],
    handle: ({ body }, service) => faultControls(service).arm(body),
  }),

  clearFaults: route({
    ...control,
    summary: 'Disarm all faults.',
    method: 'DELETE',
    path: '/_sandbox/faults',
    status: 204,
    async handle(_call, service) {
      await faultControls(service).clear()
      return noContent()
    },
  }),

  disarmFault: route({
    ...control,
    summary: 'Disarm a fault.',
    method: 'DELETE',
    path: '/_sandbox/faults/:id',
    params: z.object({ id: z.TextId }),
    status: 204,
    errors: ['not_found'],
    async handle({ params }, service) {
      await faultControls(service).disarm(params.id)
      return noContent()
    },
  }),
})
