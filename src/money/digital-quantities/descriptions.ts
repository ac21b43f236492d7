import type { TextsOf } from '../../http/openapi/texts.js'
import type { digitalQuantityRoutes } from './routes.js'

export const digitalQuantityTexts: TextsOf<typeof digitalQuantityRoutes> = {
  operations: {
    listDigitalQuantities: 'Anybody may call this.',
    listTwinQuantities: 'Anybody may call this.',
  },
  fields: {
    digital_quantities: 'The hashes of the digital quantities.',
    metadata: 'How to show each digital quantity, by its hash.',
    'metadata.name': 'The name, such as `US Dollar`.',
    'metadata.decimals': 'How many decimals an amount may have, 0 to 9. The smallest unit is 10^-decimals.',
  },
}
