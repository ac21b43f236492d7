import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService, type Service, type ServiceOptions } from '../../../src/index.js'
import type { Reader, Storage, Writer } from '../../../src/storage/storage.js'

/** A memory storage that can be told to fail. */
export interface FailingStorage extends Storage {
  /** `writes`: bodies run, but their writes fail. `all`: no body runs. */
  failing: 'nothing' | 'writes' | 'all'
}

export const BROKEN = 'the disk is full: secret path /private/data'

export function failingStorage(): FailingStorage {
  const inner = memoryStorage()
  const broken = () => Promise.reject(new Error(BROKEN))
  return {
    ...inner,
    failing: 'nothing',
    read<T>(body: (tx: Reader) => Promise<T>) {
      return this.failing === 'all' ? broken() : inner.read(body)
    },
    write<T>(body: (tx: Writer) => Promise<T>) {
      if (this.failing === 'nothing') return inner.write(body)
      if (this.failing === 'all') return broken()
      return inner.write(async (tx) => {
        await body(tx)
        return broken()
      })
    },
  }
}

/** A service with a sandbox over a storage that fails on demand. It collects its log lines. */
export function startFailing(options: ServiceOptions = {}): {
  url: string
  fetch: Service['fetch']
  service: Service
  storage: FailingStorage
  logged: (readonly unknown[])[]
} {
  const storage = failingStorage()
  const logged: (readonly unknown[])[] = []
  const log = { error: (...entry: unknown[]) => void logged.push(entry) }
  const service = createService({ sandbox: true, ...options, storage, log })
  return { url: 'http://127.0.0.1:4242', fetch: service.fetch, service, storage, logged }
}
