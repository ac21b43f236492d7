import { defineConfig } from '@playwright/test'

const { WS_ENDPOINT = '', REPORT = '', OUTPUT = '' } = process.env

/** The project of someone who tests with `farthing/playwright`. It runs what was built. One of its tests fails on purpose. */
export default defineConfig({
  testMatch: '*.cases.mjs',
  outputDir: OUTPUT,
  workers: 1,
  reporter: [['list'], ['json', { outputFile: REPORT }]],
  use: { connectOptions: { wsEndpoint: WS_ENDPOINT } },
})
