import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { browserScript } from '../../scripts/browser-script.js'
import { folderFiles } from '../../scripts/folder-files.js'
import { fontBytes } from '../../scripts/font-bytes.js'

/** Runs test files that a sandbox exported, wherever they are. `farthing` is the sources. */
export default defineConfig({
  plugins: [browserScript(), fontBytes(), folderFiles()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: {
    alias: [{ find: /^farthing$/, replacement: fileURLToPath(new URL('../../src/index.ts', import.meta.url)) }],
  },
  test: { include: ['*.test.ts'], isolate: false, maxWorkers: 1, testTimeout: 15_000 },
})
