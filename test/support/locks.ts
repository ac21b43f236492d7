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

  async function request<T>(name: string, { mode = 'exclusive' }: LockOptions, job: () => Promise<T>): Promise<T> {
    const queue = queues.get(name) ?? { holders: new Set(), waiting: [] }
    queues.set(name, queue)
    const holder = [mode]
    await new Promise<void>((resolve) => {
      const start = () => {
        queue.holders.add(holder)
        resolve()
      }
      queue.waiting.push({ mode, start })
      grant(name)
    })
    try {
      return await job()
    } finally {
      queue.holders.delete(holder)
      grant(name)
    }
  }
  return { request } as Pick<LockManager, 'request'>
}
