import type * as recorded from '../../src/http/openapi/examples.js'

/** Replaces the examples of the OpenAPI document, which would make the worker larger. */
export const examples: typeof recorded.examples = {}
