import type { DeliveryClaim } from '../../base/message.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'

/** A claim on a message by this service. No other try has the same. */
export const claimOf = (
  { instance, random }: Pick<ServiceContext, 'instance' | 'random'>,
  until: number,
): DeliveryClaim => ({ holder: `${instance}:${randomHex(random, 8)}`, until })
