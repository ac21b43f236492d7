import { fileURLToPath } from 'node:url'

/** A plugin for Rolldown. It replaces every module whose name matches by a file of this project. */
export const replaceModule = (name: RegExp, file: URL) => ({
  name: 'replace-module',
  resolveId: (source: string) => (name.test(source) ? fileURLToPath(file) : undefined),
})
