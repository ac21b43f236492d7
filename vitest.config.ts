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
    maxWorkers: '100%',
    testTimeout: 15_000,
    hookTimeout: 30_000,
  },
})
