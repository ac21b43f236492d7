import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

const suffix = '?font'

/** A plugin for Rolldown and Vite. `import font from 'a-package/a-file.woff?font'` imports the bytes of that file. */
export function fontBytes() {
  return {
    name: 'font-bytes',
    enforce: 'pre' as const,

    resolveId(source: string): string | undefined {
      if (!source.endsWith(suffix)) return undefined
      return createRequire(import.meta.url).resolve(source.slice(0, -suffix.length)) + suffix
    },

    async load(id: string) {
      if (!id.endsWith(suffix)) return undefined
      const text = await readFile(id.slice(0, -suffix.length), 'base64')
      const code = `export default Uint8Array.from(atob('${text}'), (character) => character.charCodeAt(0))`
      return { code, moduleType: 'js' as const }
    },
  }
}
