import { defineConfig } from '@playwright/test'

const { CHROME_PATH } = process.env

export default defineConfig({
  testDir: 'test',
  fullyParallel: true,
  use: CHROME_PATH ? { launchOptions: { executablePath: CHROME_PATH } } : {},
})
