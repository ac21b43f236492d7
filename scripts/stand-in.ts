import { fileURLToPath } from 'node:url'

/** Puts a file of this project where a module is imported by such a name. A plugin for Rolldown. */
export const standIn = (name: RegExp, file: URL) => ({
  name: 'stand-in',
  resolveId: (source: string) => (name.test(source) ? fileURLToPath(file) : undefined),
})
