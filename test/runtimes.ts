import { mswInChromium, workerInChromium } from './runtimes/browser.js'
import { inProcess, inProcessOnce } from './runtimes/in-process.js'
import { mswInNode } from './runtimes/msw-node.js'
import { nodeServer } from './runtimes/node-server.js'
import type { Runtime } from './runtimes/runtime.js'

/** Where the contract is held: a new contract test needs no word about them, and for some the tag of `support/contract.ts`. */
export const runtimes: readonly Runtime[] = [
  inProcess,
  inProcessOnce,
  nodeServer,
  mswInNode,
  mswInChromium,
  workerInChromium,
]
