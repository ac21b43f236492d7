import { afterEach } from 'vitest'
import { inProcess } from '../../runtimes/in-process.js'
import type { ContractOptions, Running } from '../../runtimes/runtime.js'
import { caller } from '../api.js'
import type { Started } from '../contract/contract.js'

/** Starts a service in this process, for attacks that go by no runtime; it is closed after the test. */
export function attacked(): (options?: ContractOptions) => Promise<Started> {
  const open: Running[] = []
  afterEach(async () => {
    for (const running of open.splice(0)) await running.close()
  })
  return async (options = {}) => {
    const running = await inProcess.start(options)
    open.push(running)
    return { ...running, call: caller(running) }
  }
}
