import { fileURLToPath } from 'node:url'

/** A plugin for Rolldown. It replaces every module whose name matches by a file of this project. Throws if none does. */
export function replaceModule(name: RegExp, file: URL) {
  let isReplaced = false
  return {
    name: 'replace-module',
    resolveId(source: string) {
      if (!name.test(source)) return undefined
      isReplaced = true
      return fileURLToPath(file)
    },
    buildEnd(error?: Error) {
      if (!error && !isReplaced) throw new Error(`No module matches ${name}: nothing is replaced by ${file.pathname}.`)
    },
  }
}
