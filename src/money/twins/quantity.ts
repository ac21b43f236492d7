import type { ServiceContext } from '../../http/context.js'
import type { Writer } from '../../storage/storage.js'
import {
  type DigitalQuantityRow,
  type QuantityDefinition,
  quantityHash,
  recordQuantity,
} from '../digital-quantities/digital-quantity.js'
import { createTwin, type TwinContext } from './twin.js'

/**
 * Creates a digital quantity and the twin that issues it. Pass `hash` for a digital quantity of another service, whose
 * definition is not known. Default: the hash of the definition.
 */
export async function createQuantity(
  tx: Writer,
  { hash, ...definition }: QuantityDefinition & { readonly hash?: string },
  service: TwinContext & Pick<ServiceContext, 'clock'>,
): Promise<DigitalQuantityRow> {
  const dq = hash ?? quantityHash(definition)
  const issuer = await createTwin(tx, { owner: `issuer:${dq}`, dq, at: service.clock.now() }, service)
  return recordQuantity(tx, definition, { hash: dq, issuerTwinId: issuer.id })
}
