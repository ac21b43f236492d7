import type { ServiceContext } from '../../../http/context.js'
import {
  type DigitalQuantityRow,
  type QuantityDefinition,
  quantityHash,
  recordQuantity,
} from '../../../money/digital-quantities/digital-quantity.js'
import { createTwin } from '../../../money/twins/twin.js'
import type { Writer } from '../../../storage/storage.js'

/** Creates a digital quantity and the twin that issues it. */
export async function createQuantity(
  tx: Writer,
  definition: QuantityDefinition,
  service: ServiceContext,
): Promise<DigitalQuantityRow> {
  const dq = quantityHash(definition)
  const issuer = await createTwin(tx, { owner: `issuer:${dq}`, dq, at: service.clock.now() }, service)
  return recordQuantity(tx, definition, issuer.id)
}
