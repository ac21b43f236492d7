import type { Storage } from '../../../src/storage/storage.js'

/** A storage that several processes use, with their names in the order of their starts. The test says which are alive. */
export function sharedByProcesses(inner: Storage): { storage: Storage; names: string[]; end(name?: string): void } {
  const names: string[] = []
  const alive = new Set<string>()
  const presence = {
    async enter(name: string) {
      names.push(name)
      alive.add(name)
    },
    isAlive: async (name: string) => alive.has(name),
  }
  return {
    storage: { ...inner, exclusive: false, presence, close: async () => {} },
    names,
    /** The first process, unless another is named. */
    end: (name = names[0] ?? '') => void alive.delete(name),
  }
}
