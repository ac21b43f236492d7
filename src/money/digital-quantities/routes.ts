import { designed } from '../../http/fields/graded.js'
import { ContentHash, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { allQuantities } from './digital-quantity.js'

export const digitalQuantityRoutes = defineRoutes('digital quantities', {
  listDigitalQuantities: route({
    summary: 'List the digital quantities of the service, the default first.',
    evidence: 'documented',
    method: 'GET',
    path: '/dq',
    versions: ['v4'],
    auth: ['none'],
    shareable: true,
    result: z.object({
      digital_quantities: z.array(ContentHash),
      metadata: z.record(
        z.string(),
        z.object({
          name: z.string(),
          shortcode: z.string(),
          shortdescription: z.string(),
          decimals: designed(z.int()),
        }),
      ),
    }),
    async read(tx) {
      const rows = await allQuantities(tx)
      const metadata = rows.map(({ id, name, shortcode, shortdescription, decimals }) => [
        id,
        { name, shortcode, shortdescription, decimals },
      ])
      return { digital_quantities: rows.map(({ id }) => id), metadata: Object.fromEntries(metadata) }
    },
  }),
  listTwinQuantities: route({
    summary: "List the hashes of the digital quantities that the service's twins accept.",
    evidence: 'named',
    method: 'GET',
    path: '/twin/dq',
    versions: ['v2'],
    auth: ['none'],
    shareable: true,
    result: z.object({ digital_quantities: z.array(ContentHash) }),
    read: async (tx) => ({ digital_quantities: (await allQuantities(tx)).map(({ id }) => id) }),
  }),
})
