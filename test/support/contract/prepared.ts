import type { ContractOptions } from '../../runtimes/runtime.js'
import type { Call } from '../api.js'
import type { Start, Started } from './contract.js'
import { settledState } from './settled.js'

/**
 * Starts services that begin with what `make` made of what it is given. In process it is made once, and each later service
 * begins with its rows: most cases would take longer to prepare than to run. Other runtimes are asked for it each time, so
 * that they answer those calls too.
 */
export function prepared<T extends object, G = undefined>(
  make: (call: Call, given: G) => Promise<T>,
): (start: Start, given: G, options?: ContractOptions) => Promise<Started & T> {
  const made = new Map<string, Promise<{ told: T; startNext: () => Promise<Started> }>>()
  return async (start, given, options = {}) => {
    const { over } = start
    if (!over) {
      const running = await start(options)
      return { ...running, ...(await make(running.call, given)) }
    }
    const key = JSON.stringify([given, options])
    const first = async () => {
      const running = await start(options)
      const told = await make(running.call, given)
      const state = await settledState(running.state)
      return { told, startNext: () => over(state, options) }
    }
    const known = made.get(key) ?? first()
    made.set(key, known)
    const { told, startNext } = await known
    return { ...(await startNext()), ...structuredClone(told) }
  }
}
