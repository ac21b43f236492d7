import { reply } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { control } from '../control.js'
import { serviceControls } from '../service-controls.js'

export const metricsRoutes = defineRoutes('sandbox', {
  readMetrics: route({
    ...control,
    summary: 'Read what the sandbox measures, for Prometheus and others that read OpenMetrics.',
    method: 'GET',
    path: '/metrics',
    produces: ['application/openmetrics-text'],
    handle: async (_call, service) =>
      reply({
        body: await serviceControls(service).metrics(),
        headers: { 'content-type': 'application/openmetrics-text; version=1.0.0; charset=utf-8' },
      }),
  }),
})
