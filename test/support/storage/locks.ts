interface Waiting {
  readonly mode: LockMode
  readonly start: () => void
}

/** As much of the Web Locks API as a storage asks for, in the order of asking, for a Node that has none. */
export function lockManager(): Pick<LockManager, 'request'> {
  const queues = new Map<string, { holders: Set<LockMode[]>; waiting: Waiting[] }>()

  function grant(name: string): void {
    const queue = queues.get(name)
    for (let first = queue?.waiting[0]; queue && first; first = queue.waiting[0]) {
      const held = [...queue.holders].flat()
      if (held.includes('exclusive') || (held.length > 0 && first.mode === 'exclusive')) return
      queue.waiting.shift()
      first.start()
    }
  }

  type Job<T> = (lock: Lock | null) => Promise<T>
  async function request<T>(name: string, ...rest: [Job<T>] | [LockOptions, Job<T>]): Promise<T> {
    const [{ mode = 'exclusive', ifAvailable }, job] = rest.length === 1 ? [{}, rest[0]] : rest
    const queue = queues.get(name) ?? { holders: new Set(), waiting: [] }
    queues.set(name, queue)
    const holder = [mode]
    const isFree = queue.waiting.length === 0 && (queue.holders.size === 0 || mode === 'shared')
    if (ifAvailable && !(isFree && ![...queue.holders].flat().includes('exclusive'))) return job(null)
    await new Promise<void>((resolve) => {
      const start = () => {
        queue.holders.add(holder)
        resolve()
      }
      queue.waiting.push({ mode, start })
      grant(name)
    })
    try {
      return await job({ name, mode })
    } finally {
      queue.holders.delete(holder)
      grant(name)
    }
  }
  return { request } as Pick<LockManager, 'request'>
}
