import { z } from '../../../http/fields/schema.js'
import { defineRoutes, route } from '../../../http/route.js'
import { listedCollections, listRows } from '../rows.js'
import { control, RowQueryShape } from '../shapes.js'
import { readCredentials } from '../state-controls.js'

const client = { client_id: z.TextId, client_secret: z.secret(z.string()) }

export const dataRoutes = defineRoutes('sandbox', {
  readCredentials: route({
    ...control('GET', '/_sandbox/credentials'),
    summary: 'Read the credentials of everything that was seeded, at the start or later, as long as they work.',
    result: z.object({
      accounts: z.array(z.object({ name: z.string(), public_secret: z.TextId, ...client })),
      users: z.array(z.object({ email: z.string(), code: z.secret(z.optional(z.string())), ...client })),
    }),
    async handle(_call, service) {
      const { accounts, users } = await readCredentials(service)
      return { accounts: [...accounts], users: [...users] }
    },
  }),

  listCollections: route({
    ...control('GET', '/_sandbox/rows'),
    summary: 'List the collections of the state, with what their fields refer to.',
    result: z.object({
      collections: z.array(z.object({ name: z.string(), refs: z.record(z.string(), z.string()) })),
    }),
    async handle(_call, service) {
      const collections = listedCollections(service).map(({ name, refs = {} }) => ({
        name,
        refs: Object.fromEntries(Object.entries(refs).flatMap(([field, to]) => (to ? [[field, to]] : []))),
      }))
      return { collections }
    },
  }),

  listRows: route({
    ...control('GET', '/_sandbox/rows/:collection'),
    summary: 'List the rows of a collection as they are stored, newest first, without secrets.',
    params: z.object({ collection: z.string() }),
    query: RowQueryShape,
    result: z.object({ rows: z.array(z.record(z.string(), z.unknown())), next: z.nullable(z.string()) }),
    errors: ['not_found', 'cursor_invalid'],
    handle: ({ params, query }, service) =>
      service.storage.read((tx) => listRows(tx, service, params.collection, query)),
  }),
})
