import { problem } from '../../src/base/problem.js'

/** Replaces the parser of CSV, which would make the worker a tenth larger. Throws `not_loaded`. */
export function parse(): never {
  throw problem('not_loaded', { detail: 'The demo reads no CSV. Run a sandbox to import a binder: npx farthing' })
}
