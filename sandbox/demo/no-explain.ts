import { problem } from '../../src/base/problem.js'
import type * as explaining from '../../src/sandbox/explain/explain-entry.js'

/** Replaces what explains answers, which would make the worker larger. */
export const explainEntry: typeof explaining.explainEntry = async () => {
  throw problem('not_loaded', { detail: 'The offline demo explains no answers. Start a sandbox: npx farthing' })
}
