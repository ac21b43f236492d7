import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { type DiskEvent, watchDisk } from './disk.js'

/** Which operations on which files fail, while `now` is true. */
export interface DiskFault {
  at: readonly DiskEvent['do'][]
  file: RegExp
  /** The code of the error, such as `ENOSPC`. */
  code: string
  now: boolean
  /** How many operations have failed. */
  count: number
}

export const diskFault = (fault: Pick<DiskFault, 'at' | 'file'> & Partial<DiskFault>): DiskFault => ({
  code: 'ENOSPC',
  now: false,
  count: 0,
  ...fault,
})

/** Makes operations fail while the test says so. Half of a failing write's bytes are written before. */
export async function withFault(fault: DiskFault, body: () => Promise<void>): Promise<void> {
  let isHalving = false
  const disk = await watchDisk({
    async before(event) {
      if (isHalving || !fault.now || !fault.at.includes(event.do) || !fault.file.test(event.path)) return
      fault.count++
      if (event.do === 'write' && event.handle) {
        isHalving = true
        await event.handle.write(event.bytes, 0, event.bytes.length >> 1, event.at)
        isHalving = false
      }
      throw Object.assign(new Error(`${fault.code}: this disk fails on purpose`), { code: fault.code })
    },
  })
  try {
    await body()
  } finally {
    disk.stop()
  }
}

/** Lets nobody in this process read some files. The code is why, such as `EACCES`. */
export async function withoutReading(file: RegExp, code: string, body: () => Promise<void>): Promise<void> {
  const { open, readFile } = fs
  const refusing =
    <Given extends readonly unknown[], T>(call: (...given: Given) => Promise<T>) =>
    async (...given: Given) => {
      if (file.test(String(given[0]))) throw Object.assign(new Error(`${code}: no`), { code })
      return call(...given)
    }
  Object.assign(fs, { open: refusing(open), readFile: refusing(readFile) })
  syncBuiltinESMExports()
  try {
    await body()
  } finally {
    Object.assign(fs, { open, readFile })
    syncBuiltinESMExports()
  }
}
