import type { TextsOf } from '../../../http/openapi/texts.js'
import type { metricsRoutes } from './routes.js'

export const metricsTexts: TextsOf<typeof metricsRoutes> = {
  operations: {
    readMetrics:
      'Counts are of this process since its start, whatever other processes do. It answers before the start has ended, and while the storage does not: then what waits in the storage is left out. It changes nothing, and may start an audit of the ledger in the background.',
  },
  fields: {},
}
