import { inProcessOnce } from '../runtimes/in-process.js'
import type { Runtime } from '../runtimes/runtime.js'

/** Where the contract runs against mutants: in this process alone. */
export const runtimes: readonly Runtime[] = [{ ...inProcessOnce, holds: 'whole' }]
