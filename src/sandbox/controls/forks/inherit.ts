import { load } from '../../../base/load.js'
import type { ServiceContext } from '../../../http/context.js'
import { takeKey } from '../../settings/take-key.js'

/** Takes over what a fork needs and its state does not hold. `at`: its time, in milliseconds. Default: that of its parent. */
export function inherit(context: ServiceContext, { keys, sandbox }: ServiceContext, at?: number): void {
  context.changeKeys(keys)
  if (!context.sandbox || !sandbox) return
  context.sandbox.clock.restore(sandbox.clock.state())
  if (at !== undefined) context.sandbox.clock.setTo(at)
  context.sandbox.isServed = sandbox.isServed
  for (const id of sandbox.handedApprovals.keys()) context.sandbox.handedApprovals.set(id, true)
  for (const [id, client] of sandbox.seededClients) context.sandbox.seededClients.set(id, client)
}

/** Takes the key of the state of a fork, and ends what it shows as running: that runs in its parent. */
export async function settleFork(context: ServiceContext): Promise<void> {
  await takeKey(context)
  const { endUnfinished } = await load(() => import('../unfinished.js'))
  await endUnfinished(context, true)
}
