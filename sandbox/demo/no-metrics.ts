import { problem } from '../../src/base/problem.js'
import type * as metrics from '../../src/sandbox/metrics/metrics.js'

/** Replaces what writes metrics, which would make the worker larger. */
export const readMetrics: typeof metrics.readMetrics = async () => {
  throw problem('not_loaded', { detail: 'The offline demo shows no metrics. Start a sandbox: npx farthing' })
}
