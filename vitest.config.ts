import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { browserScript } from './scripts/browser-script.js'

export default defineConfig({
  plugins: [browserScript()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // `farthing` and its subpaths are the sources here, by the `paths` of tsconfig.json.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/**/*.test.ts'],
    // These need a tool that runs on no Node below 22: .ci/run installs it apart, and says where.
    exclude: process.env.FARTHING_CONFORMANCE ? [] : ['test/conformance/**'],
    environment: 'node',
    globalSetup: ['test/support/unanswered.ts', 'test/support/shared-browser.ts', 'test/support/runtime-counts.ts'],
    // Much of a run waits for browsers and processes: more than one for each core keeps them busy.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    testTimeout: 15_000,
    // On a machine that has much else to do a moment is longer than the default second.
    expect: { poll: { timeout: 5000 } },
    hookTimeout: 30_000,
  },
})
