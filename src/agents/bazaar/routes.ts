import { component, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { listDiscoverable, MOST_SKIPPED } from './discovery.js'

const filters = {
  type: z.optional(z.string()),
  payTo: z.optional(z.string().check(z.regex(/^0x[0-9a-fA-F]{40}$/, '0x and 40 hex digits'))),
  scheme: z.optional(z.string()),
  network: z.optional(z.string()),
  extensions: z.optional(z.string()),
  limit: z.optional(z.int().check(z.minimum(1), z.maximum(100))),
}
const Resource = component('DiscoveredResource', {
  resource: z.string(),
  type: z.string(),
  x402Version: z.int(),
  accepts: z.array(
    z.object({
      ...{ scheme: z.string(), network: z.string(), amount: z.string(), asset: z.string(), payTo: z.string() },
      maxTimeoutSeconds: z.number(),
      extra: z.optional(z.nullable(z.record(z.string(), z.unknown()))),
    }),
  ),
  lastUpdated: z.IsoTime,
  description: z.optional(z.string()),
  mimeType: z.optional(z.string()),
  serviceName: z.optional(z.string()),
  extensions: z.record(z.string(), z.unknown()),
})
const discovery = { evidence: 'designed', method: 'GET', auth: ['none'], shareable: true } as const

export const bazaarRoutes = defineRoutes('x402', {
  listX402Resources: route({
    ...discovery,
    summary: 'List resources that x402 pays for: those of shops whose payments settled here, and items of the catalog.',
    path: '/x402/discovery/resources',
    query: z.object({ ...filters, offset: z.optional(z.int().check(z.minimum(0), z.maximum(MOST_SKIPPED))) }),
    result: z.object({
      x402Version: z.int(),
      items: z.array(Resource),
      pagination: z.object({ limit: z.int(), offset: z.int(), total: z.int() }),
    }),
    async read(tx, { query }, service) {
      const { resources: items, ...pagination } = await listDiscoverable(tx, query, service)
      return { x402Version: 2, items, pagination }
    },
  }),
  searchX402Resources: route({
    ...discovery,
    summary: 'Search resources that x402 pays for, by beginnings of words in URL, description and parameters.',
    path: '/x402/discovery/search',
    query: z.object({
      query: z.string().check(z.minLength(1), z.maxLength(256)),
      ...filters,
      cursor: z.optional(z.string().check(z.regex(/^\d{1,4}$/, 'a cursor of the page before'))),
    }),
    result: z.object({
      x402Version: z.int(),
      resources: z.array(Resource),
      partialResults: z.boolean(),
      pagination: z.object({ limit: z.int(), cursor: z.nullable(z.string()) }),
    }),
    async read(tx, { query: { cursor, ...query } }, service) {
      const offset = Math.min(Number(cursor ?? 0), MOST_SKIPPED)
      const { resources, limit, total } = await listDiscoverable(tx, { ...query, offset }, service)
      const next = offset + resources.length
      const isLast = next >= total || next > MOST_SKIPPED || resources.length === 0
      return {
        ...{ x402Version: 2, resources, partialResults: isLast && next < total },
        pagination: { limit, cursor: isLast ? null : String(next) },
      }
    },
  }),
})
