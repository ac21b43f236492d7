import { load } from '../../../base/load.js'
import type { ServiceContext } from '../../../http/context.js'
import { sandboxOf } from '../../onion/context.js'
import { takeKey } from '../../settings/take-key.js'

/** Takes over what a fork needs and its state does not hold. `at`: its time, in milliseconds. Default: that of its parent. */
export function inherit(context: ServiceContext, { keys, sandbox }: ServiceContext, at?: number): void {
  context.stateKey.change(keys)
  const [own, former] = [sandboxOf(context), sandboxOf({ sandbox })]
  own.clock.restore(former.clock.state())
  if (at !== undefined) own.clock.setTo(at)
  own.isServed = former.isServed
  for (const id of former.handedApprovals.keys()) own.handedApprovals.set(id, true)
  for (const [id, client] of former.seededClients) own.seededClients.set(id, client)
}

/** Takes the key of the state of a fork, and ends what it shows as running: that runs in its parent. */
export async function settleFork(context: ServiceContext): Promise<void> {
  await takeKey(context)
  const { endUnfinished } = await load(() => import('../unfinished.js'))
  await endUnfinished(context, true)
}
