interface ModuleGraph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null
}

/**
 * A group of chunks for Rolldown: the modules that an entry imports at once, and no later, become one file, and so do those
 * that match `also`, without those that match `but`. Without it, each set of modules that features share is a file of its own, and a start reads a hundred.
 */
export function chunkAtOnce(name: string, entry: string, { also, but }: { also?: RegExp; but?: RegExp } = {}) {
  let ids: Set<string> | undefined
  const collect = (graph: ModuleGraph) => {
    const found = new Set([entry])
    for (const id of found) for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) found.add(imported)
    return found
  }
  return {
    name(id: string, graph: ModuleGraph): string | null {
      ids ??= collect(graph)
      return !but?.test(id) && (ids.has(id) || also?.test(id)) ? name : null
    },
  }
}
