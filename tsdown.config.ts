import { fileURLToPath } from 'node:url'
import { defineConfig, type UserConfig } from 'tsdown'
import { demoCss } from './sandbox/demo/style.js'
import { browserScript } from './scripts/browser-script.js'
import { emitFile } from './scripts/emit-file.js'
import { fontBytes } from './scripts/font-bytes.js'
import { replaceModule } from './scripts/replace-module.js'

const common = {
  format: 'esm',
  fixedExtension: false,
  plugins: [browserScript(), fontBytes()],
  failOnWarn: true,
  checks: { pluginTimings: false },
  report: false,
  logLevel: 'warn',
} satisfies UserConfig

/** The offline demo: static files that work wherever they are put. */
const demo = {
  ...common,
  outDir: 'dist/demo',
  platform: 'browser',
  target: 'es2022',
  deps: { alwaysBundle: /./, onlyBundle: false },
  dts: false,
  minify: true,
} satisfies UserConfig

/** Each part has a folder of its own under dist/, so that one can be built alone: `tsdown --filter cli`. */
export default defineConfig([
  {
    ...common,
    name: 'lib',
    entry: {
      index: 'src/index.ts',
      core: 'src/core.ts',
      node: 'adapters/node.ts',
      'service-worker': 'adapters/service-worker.ts',
      msw: 'adapters/msw.ts',
      smtp: 'adapters/smtp.ts',
      stripe: 'adapters/stripe.ts',
      'storage/memory': 'adapters/storage/memory.ts',
      'storage/file': 'adapters/storage/file.ts',
      'storage/indexeddb': 'adapters/storage/indexeddb.ts',
    },
    outDir: 'dist/lib',
    platform: 'node',
    target: 'es2023',
    // Loaded between two lines of ours (src/http/csv/csv.ts), which only one bundle keeps in order.
    deps: { alwaysBundle: /^csv-stringify/, onlyBundle: ['csv-stringify', '@fontsource/arimo'] },
    dts: { sourcemap: false },
    sourcemap: true,
  },
  {
    ...common,
    name: 'element',
    entry: { element: 'src/market/embeds/browser/element.client.ts' },
    outDir: 'dist/element',
    platform: 'browser',
    target: 'es2022',
    dts: { sourcemap: false },
    minify: true,
  },
  {
    // With its dependencies, in few files: a start reads no node_modules.
    ...common,
    name: 'cli',
    entry: { farthing: 'sandbox/cli.ts' },
    outDir: 'dist/cli',
    platform: 'node',
    target: 'node20.19',
    deps: { alwaysBundle: /./, onlyBundle: false },
    dts: false,
    minify: true,
  },
  {
    ...demo,
    name: 'demo',
    entry: { page: 'sandbox/demo/page.tsx' },
    plugins: [...common.plugins, emitFile('style.css', demoCss)],
    copy: 'sandbox/demo/index.html',
  },
  {
    ...demo,
    name: 'demo-worker',
    entry: { worker: 'sandbox/demo/worker.ts' },
    alias: { '@modelcontextprotocol/client': fileURLToPath(new URL('sandbox/demo/no-client.ts', import.meta.url)) },
    // A worker loads nothing later, and is not to be larger: its invoices write in Latin letters what Helvetica lacks.
    plugins: [
      ...common.plugins,
      replaceModule(/\/packaged-fonts\.js$/, new URL('sandbox/demo/no-fonts.ts', import.meta.url)),
    ],
    format: 'iife',
    outputOptions: { entryFileNames: '[name].js' },
  },
])
