import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Runs test files that a sandbox exported, wherever they are. `farthing` is what was built, which Vitest leaves as it is. */
export default defineConfig({
  resolve: {
    alias: [{ find: /^farthing$/, replacement: fileURLToPath(new URL('../../dist/lib/index.js', import.meta.url)) }],
  },
  test: {
    include: ['*.test.ts'],
    testTimeout: 15_000,
    ...{ isolate: false, maxWorkers: 1, pool: 'threads' },
    server: { deps: { external: [/\/dist\//] } },
  },
})
