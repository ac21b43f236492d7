import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type TestContext } from 'vitest'
import { nodeOf, PAID, platformTests, shopProject, versionOf } from './platforms/platform-tests.js'

/** Each bundler makes scripts for browsers from one that pays in process. Node runs them: nothing else of Node is there. */

interface Bundler {
  readonly package: string
  /** Writes `out/in-process.js`. */
  readonly script: string
}

const webpackLike = (name: string) => `
import bundler from '${name}'
const compiler = (bundler.default ?? bundler.rspack ?? bundler)({
  mode: 'production',
  target: ['web', 'es2022'],
  entry: { 'in-process': './in-process.mjs' },
  experiments: { outputModule: true },
  // It would warn of each size.
  performance: false,
  output: { path: import.meta.dirname + '/out', filename: '[name].js', module: true, chunkFormat: 'module', chunkLoading: 'import' },
})
compiler.run((error, stats) => {
  if (error ?? stats.hasErrors()) throw error ?? new Error(stats.toString())
  if (stats.hasWarnings()) console.error(stats.toString({ all: false, warnings: true }))
})
`

const bundlers = {
  esbuild: {
    package: 'esbuild',
    script: `
import { build } from 'esbuild'
await build({ entryPoints: ['in-process.mjs'], bundle: true, minify: true, splitting: true, format: 'esm', outdir: 'out' })
`,
  },
  vite: {
    package: 'vite',
    script: `
import { build } from 'vite'
const input = 'in-process.mjs'
const output = { entryFileNames: '[name].js' }
await build({ logLevel: 'warn', build: { outDir: 'out', target: 'es2022', modulePreload: false, rollupOptions: { input, output } } })
`,
  },
  webpack: { package: 'webpack', script: webpackLike('webpack') },
  rspack: { package: '@rspack/core', script: webpackLike('@rspack/core') },
} satisfies Record<string, Bundler>

const bundled = ({ package: name, script }: Bundler) =>
  async function run({
    context,
    version,
  }: {
    readonly context: TestContext
    readonly version: string
  }): Promise<string> {
    const shop = await shopProject(context, [`${name}@${version}`], ['in-process.mjs'])
    await writeFile(join(shop.folder, 'bundle.mjs'), script)
    const node = await nodeOf(context, '22')
    const said = await shop.run([node, 'bundle.mjs'])
    expect(said).not.toMatch(/warning/i)
    await shop.run(['rm', '-r', 'node_modules/farthing'])
    expect((await shop.run([node, 'out/in-process.js'])).trim()).toBe(PAID)
    return versionOf(shop, name)
  }

platformTests('bundlers', {
  esbuild: bundled(bundlers.esbuild),
  vite: bundled(bundlers.vite),
  webpack: bundled(bundlers.webpack),
  rspack: bundled(bundlers.rspack),
})
