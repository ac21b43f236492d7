import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const suffix = '?files'

/**
 * A plugin for Rolldown and Vite. `import files from './folder?files'` imports an object: the path of each file in the folder
 * and its text. Left out are files that git ignores there, and the README.
 */
export function folderFiles() {
  return {
    name: 'folder-files',
    enforce: 'pre' as const,

    resolveId(source: string, importer: string | undefined): string | undefined {
      if (!source.endsWith(suffix)) return undefined
      return importer === undefined ? resolve(source) : resolve(dirname(importer), source)
    },

    load(this: { addWatchFile(path: string): void }, id: string) {
      if (!id.endsWith(suffix)) return undefined
      const folder = id.slice(0, -suffix.length)
      const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((path) => path.slice(folder.length + 1).replaceAll('\\', '/'))
        .filter((path) => !LEFT_OUT.test(path))
        .sort()
      const files = paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')])
      for (const path of paths) this.addWatchFile(join(folder, path))
      return { code: `export default ${JSON.stringify(Object.fromEntries(files))}`, moduleType: 'js' as const }
    },
  }
}

const LEFT_OUT =
  /(^|\/)(node_modules|dist|\.next|\.farthing|test-results)\/|^(README\.md|package-lock\.json|next-env\.d\.ts|public\/mockServiceWorker\.js)$|\.(log|tsbuildinfo)$/
