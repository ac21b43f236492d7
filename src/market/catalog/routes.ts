import { callingAccount } from '../../base/owner.js'
import { designed } from '../../http/fields/graded.js'
import {
  Amount,
  component,
  IdPath,
  ItemShape,
  itemFields,
  listing,
  ServiceMethod,
  ServiceSchema,
  Time,
  timeOf,
  z,
} from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import {
  createCatalogItem,
  itemTerms,
  listOwnCatalogItems,
  NewItem,
  ownItem,
  readCatalogItem,
  recordParameterChange,
  setArchived,
  updateCatalogItem,
} from './item.js'
import { listDispatchParameters, replaceDispatchParameters } from './parameter.js'
import { listCatalogItems, MOST_OFFSET } from './search.js'

const Kind = z.enum(['header', 'query', 'url'])
const ParameterName = z
  .string()
  .check(z.regex(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 characters of letters, digits, "_" and "-"'))

const Parameters = component('DispatchParameters', {
  parameters: z.array(
    component('DispatchParameter', {
      id: z.Id,
      kind: Kind,
      name: ParameterName,
      sensitive: z.boolean(),
      value: z.secret(z.nullable(z.string())),
      value_set: z.boolean(),
      updated_at: z.IsoTime,
    }),
  ),
})

const itemRefusals = ['dq_unknown', 'twin_unknown', 'amount_invalid', 'upstream_refused', 'plan_limit_reached'] as const
const own = { evidence: 'designed', versions: ['v4'], auth: ['account'] } as const
const changed = { ...own, method: 'POST', params: IdPath, result: ItemShape, idempotent: true } as const
const parameters = { ...own, path: '/catalog/items/:id/parameters', params: IdPath, result: Parameters } as const

export const catalogRoutes = defineRoutes('catalog', {
  listCatalogItems: route({
    summary:
      'Search the catalog by beginnings of words in name, description or seller. Returns items that are active, public and not archived, newest first.',
    evidence: 'observed',
    method: 'GET',
    path: '/catalog/items',
    versions: ['v4'],
    auth: ['none'],
    shareable: true,
    query: z.object({
      query: designed(z.optional(z.string().check(z.maxLength(256)))),
      limit: z.optional(z.int().check(z.minimum(1), z.maximum(100))),
      offset: z.optional(z.int().check(z.minimum(0), z.maximum(MOST_OFFSET))),
      created_after: designed(z.optional(Time)),
    }),
    result: z.object({ items: z.array(ItemShape), total: designed(z.int()) }),
    read: (tx, { query: { created_after, ...query } }) =>
      listCatalogItems(tx, { ...query, createdAfter: timeOf('created_after', created_after) }),
  }),
  createCatalogItem: route({
    summary: 'Create a catalog item that sells calls of an endpoint, with its commodity, and a twin if you name none.',
    ...own,
    method: 'POST',
    path: '/catalog/items',
    body: NewItem,
    status: 201,
    result: ItemShape,
    errors: itemRefusals,
    adds: 'catalog_items',
    idempotent: true,
    write: (tx, { body, principal }, service) =>
      createCatalogItem(tx, { ...body, accountId: principal.id, at: service.clock.now() }, service),
  }),
  readCatalogItem: route({
    summary: 'Read a catalog item. Only its own account sees its endpoint, and sees it at all if it is private.',
    evidence: 'observed',
    method: 'GET',
    path: '/catalog/items/:id',
    versions: ['v4'],
    auth: ['none', 'account'],
    params: IdPath,
    result: ItemShape,
    errors: ['not_found'],
    read: (tx, { params, principal }) => readCatalogItem(tx, params.id, callingAccount(principal)),
  }),
  updateCatalogItem: route({
    summary: 'Change an item. A new price applies to its commodity at once.',
    ...own,
    method: 'PUT',
    path: '/catalog/items/:id',
    params: IdPath,
    body: z.object({
      ...itemTerms,
      name: z.optional(itemFields.name),
      description: z.optional(itemFields.description),
      price: z.optional(Amount),
      service_method: z.optional(ServiceMethod),
      external_endpoint: z.optional(z.string()),
      service_schema: z.optional(ServiceSchema),
    }),
    result: ItemShape,
    errors: ['not_found', 'item_archived', ...itemRefusals],
    write: (tx, { params, body, principal }, service) =>
      updateCatalogItem(tx, { ...body, id: params.id, accountId: principal.id, at: service.clock.now() }, service),
  }),
  archiveCatalogItem: route({
    summary: 'Archive an item. It is no longer for sale.',
    ...changed,
    path: '/catalog/items/:id/archive',
    errors: ['not_found', 'item_archived'],
    write: (tx, { params: { id }, principal }, { clock }) =>
      setArchived(tx, { id, accountId: principal.id, archived: true, at: clock.now() }),
  }),
  restoreCatalogItem: route({
    summary: 'Restore an archived item. It stays inactive until you activate it.',
    ...changed,
    path: '/catalog/items/:id/restore',
    errors: ['not_found', 'item_not_archived'],
    write: (tx, { params: { id }, principal }, { clock }) =>
      setArchived(tx, { id, accountId: principal.id, archived: false, at: clock.now() }),
  }),
  listOwnCatalogItems: route({
    summary: "List all of the account's items, newest first.",
    ...own,
    path: '/catalog/mine',
    ...listing('items', ItemShape),
    read: (tx, { query, principal }) => listOwnCatalogItems(tx, principal.id, query),
  }),
  listDispatchParameters: route({
    summary: 'List the dispatch parameters that farthing adds when it calls an item. Sensitive values are never shown.',
    ...parameters,
    method: 'GET',
    errors: ['not_found'],
    read: async (tx, { params, principal }, service) => {
      const { id } = await ownItem(tx, principal.id, params.id)
      return { parameters: await listDispatchParameters(tx, id, service) }
    },
  }),
  replaceDispatchParameters: route({
    summary:
      'Replace the dispatch parameters of an item. Send an id to keep a parameter, without a value to keep its value too.',
    ...parameters,
    method: 'PUT',
    body: z.object({
      parameters: z.array(
        z.object({
          id: z.optional(z.nullable(z.Id)),
          kind: Kind,
          name: ParameterName,
          sensitive: z.optional(z.boolean()),
          value: z.secret(z.optional(z.nullable(z.string()))),
        }),
      ),
    }),
    errors: ['not_found'],
    write: async (tx, { params, body, principal }, service) => {
      const item = await ownItem(tx, principal.id, params.id)
      const at = service.clock.now()
      await replaceDispatchParameters(tx, { itemId: item.id, inputs: body.parameters, at }, service)
      await recordParameterChange(tx, item, at)
      return { parameters: await listDispatchParameters(tx, item.id, service) }
    },
  }),
})
