import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { browserScript } from '../../scripts/browser-script.js'
import { folderFiles } from '../../scripts/folder-files.js'
import { fontBytes } from '../../scripts/font-bytes.js'
import { endThread, keptPool } from './kept-worker.js'

const files = (process.env.FARTHING_MUTATION_TESTS ?? '').split(',').map((name) => `test/${name}.test.ts`)

/** The files in the order of the list. */
class Listed extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => files.findIndex((file) => moduleId.endsWith(`/${file}`))
    return specifications.sort((a, b) => place(a) - place(b))
  }
}

/** How tests run against mutants: Stryker starts Vitest with it, and `run.mjs` starts Stryker. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  plugins: [
    browserScript(),
    fontBytes(),
    folderFiles(),
    {
      name: 'kept-pool',
      // Stryker's runner asks for the pool "threads". This is later.
      configureVitest({ project, vitest }) {
        vitest.onClose(endThread)
        project.config.pool = 'kept'
        project.config.poolRunner = keptPool
      },
    },
  ],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: {
    tsconfigPaths: true,
    alias: [{ find: /^.*\/runtimes\.js$/, replacement: fileURLToPath(new URL('runtimes.ts', import.meta.url)) }],
  },
  test: {
    environment: 'node',
    include: files,
    setupFiles: 'test/mutation/load-all.ts',
    isolate: false,
    sequence: { sequencer: Listed },
    // On a busy machine. Stryker ends what hangs.
    testTimeout: 120_000,
    expect: { poll: { timeout: 5000 } },
    tags: [{ name: 'everywhere' }, { name: 'pages' }, { name: 'worker' }],
  },
})
