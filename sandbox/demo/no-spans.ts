import type * as spans from '../../src/http/tracing/span-recorder.js'

/** Replaces what records spans, which would make the worker larger. The demo has no tracer. */
export const traceWith: typeof spans.traceWith = () => {
  throw new Error('The offline demo records no spans.')
}
