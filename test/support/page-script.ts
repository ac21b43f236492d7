import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { browserScript } from '../../scripts/browser-script.js'

const inPage = fileURLToPath(new URL('./vitest-in-page.ts', import.meta.url))

/** Tests that run in a browser find `describe` and `test` of `vitest-in-page.ts`; that one finds vitest. */
const vitestInPage: Plugin = {
  name: 'vitest-in-page',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^vitest$/ }, ({ importer }) => (importer === inPage ? undefined : { path: inPage })),
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

/** A module of `test/`, with all it imports and tests included, as one script for a browser. */
export async function pageScript(url: URL): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(url)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    // Classes by their names, in the errors that come out.
    keepNames: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'silent',
    plugins: [vitestInPage, scripts],
  })
  return outputFiles[0]?.text ?? ''
}
