import { mswInChromium, workerInChromium } from './runtimes/browser.js'
import { inProcess, inProcessOnce } from './runtimes/in-process.js'
import { mswInNode } from './runtimes/msw-node.js'
import { nodeServer, nodeServerOnPostgres } from './runtimes/node-server.js'
import type { Runtime } from './runtimes/runtime.js'
import { hasPostgres } from './support/storage/shared-url.js'

/** Only `npm run test:all` starts a database. If none starts, the tests of its storage say that they were not run. */
const isOnPostgres = process.env.FARTHING_TEST_ALL !== undefined && (await hasPostgres())

/** Where the contract is held: a new contract test needs no word about them, and for some the tag of `support/contract.ts`. */
export const runtimes: readonly Runtime[] = [
  inProcess,
  inProcessOnce,
  nodeServer,
  ...(isOnPostgres ? [nodeServerOnPostgres] : []),
  mswInNode,
  mswInChromium,
  workerInChromium,
]
