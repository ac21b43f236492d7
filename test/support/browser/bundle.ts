import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { browserScript } from '../../../scripts/browser-script.js'
import { folderFiles } from '../../../scripts/folder-files.js'
import { fontBytes } from '../../../scripts/font-bytes.js'
import { mswInPage } from '../msw-release.js'

/** A module of `test/`, with all it imports, as one script for a browser: `esm` for a page, `iife` for a worker. */
export async function bundle(path: string, format: 'esm' | 'iife' = 'esm'): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, '../..', path)],
    bundle: true,
    write: false,
    format,
    platform: 'browser',
    target: 'es2022',
    // Classes by their names, in the errors that come out.
    keepNames: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'silent',
    // A page has no `process`: it is told which run this is.
    define: { 'process.env.FARTHING_TEST_ALL': JSON.stringify(process.env.FARTHING_TEST_ALL) ?? 'undefined' },
    plugins: [scripts, fonts, files, vitestInPage, mswInPage],
  })
  return outputFiles[0]?.text ?? ''
}

/** The plugin of the build, in words of esbuild. */
const scripts: Plugin = {
  name: 'browser-script',
  setup({ onResolve, onLoad }) {
    const { resolveId, load } = browserScript()
    onResolve({ filter: /\?script$/ }, ({ path, importer }) => ({
      path: resolveId(path, importer) as string,
      namespace: 'script',
    }))
    onLoad({ filter: /.*/, namespace: 'script' }, async ({ path }) => ({
      contents: (await load.call({ addWatchFile() {} }, path))?.code ?? '',
    }))
  },
}

/** Likewise. */
const fonts: Plugin = {
  name: 'font-bytes',
  setup({ onResolve, onLoad }) {
    const { resolveId, load } = fontBytes()
    onResolve({ filter: /\?font$/ }, ({ path }) => ({ path: resolveId(path) as string, namespace: 'font' }))
    onLoad({ filter: /.*/, namespace: 'font' }, async ({ path }) => ({ contents: (await load(path))?.code ?? '' }))
  },
}

/** Likewise. */
const files: Plugin = {
  name: 'folder-files',
  setup({ onResolve, onLoad }) {
    const { resolveId, load } = folderFiles()
    onResolve({ filter: /\?files$/ }, ({ path, importer }) => ({
      path: resolveId(path, importer) as string,
      namespace: 'files',
    }))
    onLoad({ filter: /.*/, namespace: 'files' }, ({ path }) => ({
      contents: load.call({ addWatchFile() {} }, path)?.code ?? '',
    }))
  },
}

const inPage = join(import.meta.dirname, 'vitest-in-page.ts')

/** Tests that run in a browser find `describe` and `test` of `vitest-in-page.ts`; that one finds vitest. */
const vitestInPage: Plugin = {
  name: 'vitest-in-page',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^vitest$/ }, ({ importer }) => (importer === inPage ? undefined : { path: inPage })),
}
