import { createRequire } from 'node:module'
import type typescript from 'typescript'

/** The compiler. An `import` of it would first read all of its nine megabytes once more, for the names of its exports. */
export const ts: typeof typescript = createRequire(import.meta.url)('typescript')
