import { dirname, resolve } from 'node:path'
import { build } from 'esbuild'

const suffix = '?script'

/**
 * A plugin for Rolldown and Vite. `import script from './page.client.ts?script'` imports the text of that file with all its
 * imports, bundled and minified as one ES module for browsers.
 */
export function browserScript() {
  return {
    name: 'browser-script',
    enforce: 'pre' as const,

    resolveId(source: string, importer: string | undefined): string | undefined {
      if (!source.endsWith(suffix)) return undefined
      return importer === undefined ? resolve(source) : resolve(dirname(importer), source)
    },

    async load(this: { addWatchFile(path: string): void }, id: string) {
      if (!id.endsWith(suffix)) return undefined
      const path = id.slice(0, -suffix.length)
      const { outputFiles, metafile } = await build({
        entryPoints: [path],
        bundle: true,
        minify: true,
        write: false,
        metafile: true,
        format: 'esm',
        platform: 'browser',
        target: 'es2022',
        charset: 'utf8',
        legalComments: 'none',
        logLevel: 'silent',
      })
      for (const input of Object.keys(metafile.inputs)) this.addWatchFile(resolve(input))
      return { code: `export default ${JSON.stringify(outputFiles[0]?.text.trimEnd())}`, moduleType: 'js' as const }
    },
  }
}
