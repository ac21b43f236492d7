import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type UserConfig } from 'tsdown'
import { demoCss } from './sandbox/demo/style.js'
import { workbenchCss } from './sandbox/workbench/style.js'
import { browserScript } from './scripts/browser-script.js'
import { chunkAtOnce } from './scripts/chunk-at-once.js'
import { clientEntry, stageClient } from './scripts/client-module.js'
import { emitFile } from './scripts/emit-file.js'
import { folderFiles } from './scripts/folder-files.js'
import { fontBytes } from './scripts/font-bytes.js'
import { thirdPartyNotices } from './scripts/third-party.js'
import { zodOfMcpSdk } from './scripts/zod-of-mcp-sdk.js'
import { coinSvg } from './src/http/pages/coin.js'

const common = {
  format: 'esm',
  fixedExtension: false,
  plugins: [browserScript(), fontBytes(), folderFiles()],
  failOnWarn: true,
  checks: { pluginTimings: false },
  report: false,
  logLevel: 'warn',
} satisfies UserConfig

/** One program of types for all parts that have declarations of the same sources. */
const declarations = {
  sourcemap: false,
  eager: true,
  tsconfigRaw: { include: ['src', 'adapters'] },
} satisfies UserConfig['dts']

/** Names the declarations of an entry point: JSR reads them from there. */
const typesOf = ({ isEntry, fileName }: { readonly isEntry: boolean; readonly fileName: string }): string =>
  isEntry && fileName.endsWith('.js') ? `/* @ts-self-types="./${basename(fileName, '.js')}.d.ts" */` : ''

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The workbench's page, over the service in the demo's worker. */
const workbenchOfDemo = readFileSync(source('sandbox/workbench/index.html'), 'utf8').replace(
  'data-service="./"',
  'data-service="pay/"',
)

/** Only the OpenAPI document and MCP need it, and they are loaded later. */
const jsonSchema = /\/zod\/v4\/core\/(to-json-schema|json-schema-processors)/

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
    plugins: [...common.plugins, zodOfMcpSdk(), thirdPartyNotices()],
    entry: {
      index: 'src/index.ts',
      core: 'src/core.ts',
      slim: 'src/slim.ts',
      parts: 'src/parts.ts',
      node: 'adapters/node.ts',
      'service-worker': 'adapters/service-worker.ts',
      'service-worker/register': 'adapters/service-worker/register.ts',
      msw: 'adapters/msw.ts',
      opentelemetry: 'adapters/opentelemetry.ts',
      rehearse: 'src/rehearse.ts',
      smtp: 'adapters/smtp.ts',
      stripe: 'adapters/stripe.ts',
      'storage/memory': 'adapters/storage/memory.ts',
      'storage/file': 'adapters/storage/file.ts',
      'storage/indexeddb': 'adapters/storage/indexeddb.ts',
      'storage/postgres': 'adapters/storage/postgres.ts',
    },
    outDir: 'dist/lib',
    // Browsers load it too: what Rolldown adds for Node would keep a bundler from bundling it.
    platform: 'neutral',
    target: 'es2023',
    // Of a package that differs between browsers and Node, what runs in both is for browsers.
    inputOptions: { resolve: { conditionNames: ['browser', 'import', 'default'] } },
    // Loaded between two lines of ours (src/http/csv/csv.ts), which only one bundle keeps in order.
    deps: {
      neverBundle: /^node:/,
      onlyBundle: [
        'csv-stringify',
        'zod',
        '@fontsource/arimo',
        '@modelcontextprotocol/client',
        '@modelcontextprotocol/core',
        '@modelcontextprotocol/server',
        'eventsource-parser',
        'pkce-challenge',
      ],
    },
    dts: declarations,
    outputOptions: {
      // The declarations have those for users.
      comments: { legal: true, annotation: true, jsdoc: false },
      banner: typesOf,
      codeSplitting: {
        groups: [chunkAtOnce('service', source('src/slim.ts'), { also: /\/src\/.*\/part\.ts$/, but: jsonSchema })],
      },
    },
  },
  {
    // Alone, because it is to be small, and shares nothing with the service.
    ...common,
    name: 'client',
    entry: { client: clientEntry },
    hooks: { 'build:prepare': stageClient },
    outDir: 'dist/client',
    platform: 'neutral',
    target: 'es2022',
    dts: { sourcemap: false, oxc: true },
    minify: true,
  },
  {
    // They import the other entry points by their names, so that a project has each of them once.
    ...common,
    name: 'testing',
    entry: { vitest: 'adapters/vitest.ts', playwright: 'adapters/playwright.ts' },
    outDir: 'dist/testing',
    platform: 'neutral',
    target: 'es2023',
    deps: { neverBundle: /^farthing(\/|$)/ },
    dts: declarations,
  },
  {
    ...common,
    name: 'element',
    entry: { element: 'src/market/embeds/browser/element.client.ts' },
    outDir: 'dist/element',
    platform: 'browser',
    target: 'es2022',
    dts: declarations,
    minify: true,
  },
  {
    // With its dependencies, in few files: a start reads no node_modules.
    ...common,
    name: 'cli',
    plugins: [...common.plugins, thirdPartyNotices()],
    entry: { farthing: 'sandbox/cli.ts' },
    outDir: 'dist/cli',
    platform: 'node',
    target: 'node20.19',
    deps: { alwaysBundle: /./, onlyBundle: false },
    dts: false,
    minify: true,
    // The sandbox loads at once, because it reads its state, what the service in it would load later.
    checks: { ...common.checks, ineffectiveDynamicImport: false },
    outputOptions: {
      codeSplitting: {
        groups: [
          chunkAtOnce('program', source('sandbox/program.ts')),
          chunkAtOnce('start', source('sandbox/commands/start.ts')),
        ],
      },
    },
  },
  {
    // Writes the reference of the documentation. It is no part of the package.
    ...common,
    name: 'reference',
    entry: { write: 'scripts/reference/write.ts' },
    outDir: 'node_modules/.farthing-reference',
    platform: 'node',
    target: 'node20.19',
    dts: false,
    outputOptions: { codeSplitting: false },
    deps: { neverBundle: ['typescript'] },
    onSuccess: `${process.execPath} node_modules/.farthing-reference/write.js`,
  },
  {
    // Writes llms.txt, llms-full.txt and the skill, for agents that read the package.
    ...common,
    name: 'agent-texts',
    entry: { write: 'scripts/agent-texts/write.ts' },
    outDir: 'node_modules/.farthing-agent-texts',
    platform: 'node',
    target: 'node20.19',
    dts: false,
    outputOptions: { codeSplitting: false },
    deps: { neverBundle: ['typescript'] },
    onSuccess: `${process.execPath} node_modules/.farthing-agent-texts/write.js`,
  },
  {
    ...demo,
    name: 'demo',
    entry: { page: 'sandbox/demo/page.tsx' },
    plugins: [
      ...common.plugins,
      emitFile('style.css', demoCss),
      emitFile('coin.svg', coinSvg),
      emitFile('workbench.html', workbenchOfDemo),
      thirdPartyNotices('page.licenses.txt'),
    ],
    copy: 'sandbox/demo/index.html',
  },
  {
    ...demo,
    name: 'workbench',
    outDir: 'dist/demo/workbench',
    entry: { page: 'sandbox/workbench/page.tsx' },
    plugins: [
      ...common.plugins,
      emitFile('style.css', workbenchCss),
      emitFile('coin.svg', coinSvg),
      thirdPartyNotices('page.licenses.txt'),
    ],
    copy: 'sandbox/workbench/index.html',
  },
  {
    ...demo,
    name: 'demo-worker',
    entry: { worker: 'sandbox/demo/worker.ts' },
    plugins: [...common.plugins, thirdPartyNotices('worker.licenses.txt')],
    format: 'iife',
    outputOptions: { entryFileNames: '[name].js' },
  },
])
