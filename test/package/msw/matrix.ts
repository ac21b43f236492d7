/** What `test/package/msw.test.ts` runs: each release of MSW signs a reader in and pays in each environment. */

export const mswReleases = ['2.7', '2.12', '2.15', '3.0'] as const

/** By the name of the command in test/package/msw.test.ts, what documentation calls them. */
export const mswEnvironments = {
  node: 'Vitest in Node',
  'happy-dom': 'Vitest with happy-dom',
  jsdom: "Vitest with jsdom and Node's fetch",
  jest: "Jest with jsdom and Node's fetch",
} as const
