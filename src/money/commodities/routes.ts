import { designed, observed } from '../../http/fields/graded.js'
import { Amount, ContentHash, component, Descriptor, HashPath, pageQuery, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { commodityOf, createCommodity, listCommodities, showCommodity, updatePayback } from './commodity.js'

const commodityShape = {
  hash: ContentHash,
  descriptor: z.string(),
  dq: ContentHash,
  cost: Amount,
  hostname: z.Hostname,
}

const Commodity = component('Commodity', commodityShape)

const buttonHtml = (baseUrl: string, hash: string): string =>
  `<iframe src="${baseUrl}/v4/embed/${hash}" title="Pay" width="137" height="48" allow="payment *" style="border:0"></iframe>`

export const commodityRoutes = defineRoutes('commodities', {
  createCommodity: route({
    summary: 'Create a commodity: something that one of your twins sells for a price.',
    evidence: 'documented',
    method: 'POST',
    path: '/commodity',
    versions: ['v4', 'v2'],
    auth: ['account'],
    body: z.object({
      descriptor: Descriptor,
      dq: ContentHash,
      cost: Amount,
      twin_id: z.Id,
      /** Whether the seller pays the price to users for their consent. */
      payback: designed(z.optional(z.boolean())),
    }),
    status: 201,
    result: Commodity,
    errors: ['twin_unknown', 'dq_unknown', 'amount_invalid'],
    adds: 'commodities',
    idempotent: true,
    write: (tx, { body: { twin_id, ...body }, principal }, service) =>
      createCommodity(tx, { ...body, twinId: twin_id, owner: principal.owner, at: service.clock.now() }, service),
  }),
  readCommodity: route({
    summary: 'Read a commodity. With `embed=true`, also get the HTML of a payment button.',
    evidence: { v4: 'observed', v2: 'documented' },
    method: 'GET',
    path: '/commodity/:hash',
    versions: ['v4', 'v2'],
    auth: ['none', 'embed'],
    shareable: true,
    params: HashPath,
    query: z.object({ embed: observed(z.optional(z.boolean())) }),
    result: z.object({ ...commodityShape, embed: designed(z.optional(z.string())) }),
    errors: ['not_found'],
    async read(tx, { params, query }, { baseUrl }) {
      const shown = await showCommodity(tx, await commodityOf(tx, params.hash))
      return query.embed ? { ...shown, embed: buttonHtml(baseUrl, shown.hash) } : shown
    },
  }),
  updatePayback: route({
    summary: 'Turn on or off that the seller pays the price of a commodity to users, in return for their consent.',
    evidence: 'designed',
    method: 'PUT',
    path: '/commodity/:hash/payback',
    versions: ['v4'],
    auth: ['account'],
    params: HashPath,
    body: z.object({ enabled: z.boolean() }),
    result: z.object({ hash: ContentHash, enabled: z.boolean() }),
    errors: ['not_found', 'not_owner', 'sold_by_item'],
    write: (tx, { params, body, principal }, service) =>
      updatePayback(tx, { ...params, ...body, owner: principal.owner, at: service.clock.now() }, service),
  }),
  listCommodities: route({
    summary: "List the caller's commodities, newest first.",
    evidence: 'designed',
    method: 'GET',
    path: '/commodities',
    versions: ['v4'],
    auth: ['account'],
    query: z.object({ limit: pageQuery.limit, after: z.optional(z.string()) }),
    result: z.object({ commodities: z.array(Commodity), next: z.nullable(z.string()) }),
    errors: ['cursor_invalid'],
    read: (tx, { query, principal }) => listCommodities(tx, principal.owner, query),
  }),
})
