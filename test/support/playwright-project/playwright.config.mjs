import { defineConfig } from '@playwright/test'

const { WS_ENDPOINT = '', REPORT = '', OUTPUT = '', FARTHING_TEST_ALL } = process.env

/** The project of someone who tests with `farthing/playwright`. It runs what was built. One of its tests fails on purpose. */
export default defineConfig({
  testMatch: '*.cases.mjs',
  outputDir: OUTPUT,
  workers: 1,
  // After a failure comes a new worker, which takes seconds.
  grepInvert: FARTHING_TEST_ALL === undefined ? /the worker that follows/ : [],
  reporter: [['list'], ['json', { outputFile: REPORT }]],
  use: { connectOptions: { wsEndpoint: WS_ENDPOINT } },
})
