import { hopsIn } from '../../base/via.js'
import { IdPath, z } from '../../http/fields/schema.js'
import { relayed } from '../../http/reply.js'
import { type Call, defineRoutes, ERRORS, route } from '../../http/route.js'
import { argumentsInQuery } from './arguments.js'
import { callItem, type ItemCall } from './calls.js'

const called = {
  evidence: 'designed',
  path: '/catalog/items/:id/call',
  versions: ['v4'],
  auth: ['none'],
  params: IdPath,
  relays: true,
  takesBytes: true,
  produces: ['*/*'],
  errors: [
    ...(['payment_required', 'header_malformed', 'field_invalid', ...ERRORS.item, 'too_many_hops'] as const),
    ...(['too_many_calls', 'same_twin', 'parameter_unreadable', 'idempotency_in_progress'] as const),
    ...(['payment_identifier_mismatch', 'idempotency_unreadable', 'outcome_unknown', 'upstream_failed'] as const),
    'idempotency_key_invalid',
  ],
} as const

export const itemCallRoutes = defineRoutes('x402', {
  callCatalogItem: route({
    ...called,
    summary: 'Call a catalog item with a JSON body, and pay for it in the request. Its answer is relayed.',
    method: 'POST',
    body: z.catchall(z.object({}), z.unknown()),
    bodyOptional: true,
    async handle(call, service) {
      const argsFor = () => call.body
      return relayed(await callItem(callOf(call, 'POST', argsFor), service))
    },
  }),
  callCatalogItemByGet: route({
    ...called,
    summary: 'Call a catalog item with a query, and pay for it in the request. Its answer is relayed.',
    method: 'GET',
    async handle(call, service) {
      const { searchParams } = new URL(call.url)
      const argsFor: ItemCall['argsFor'] = (schema) => argumentsInQuery(searchParams, schema)
      return relayed(await callItem(callOf(call, 'GET', argsFor), service))
    },
  }),
})

function callOf(
  { params, url, headers, bytes: body, source }: Call<{ id: number }>,
  method: string,
  argsFor: ItemCall['argsFor'],
): ItemCall {
  return { itemId: params.id, argsFor, request: { method, url, headers, body }, hops: hopsIn(headers), source }
}
