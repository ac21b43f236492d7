import { register } from '../../../adapters/service-worker.js'

/** For tests to call: nothing is registered before. */
Object.assign(globalThis, { register })
