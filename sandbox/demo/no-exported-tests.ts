import { problem } from '../../src/base/problem.js'
import type * as exported from '../../src/sandbox/exports/vitest/test-file.js'

/** Replaces what writes requests as tests, which would make the worker larger. */
export const vitestExport: typeof exported.vitestExport = async () => {
  throw problem('not_loaded', { detail: 'The offline demo exports no tests. Start a sandbox: npx farthing' })
}
