import { problem } from '../../../base/problem.js'
import { canonicalJson } from '../../../base/secrets.js'
import * as shape from '../../../http/fields/schema.js'
import { z } from '../../../http/fields/schema.js'
import { accountOf } from '../../../identity/accounts/account.js'
import { rehearsePurchase } from '../../../market/purchases/fulfilment.js'
import { firstQuantity } from '../../../money/digital-quantities/digital-quantity.js'
import { createOwnTwin, listTwins, primaryTwin, twinName } from '../../../money/twins/twin.js'
import { isObject } from '../../../storage/unknown.js'
import { applyAccountChange } from '../../agents/changes/apply.js'
import { requestApproval, wishOf } from '../../agents/request.js'
import { listTools } from './registry.js'
import {
  approvalId,
  count,
  itemArguments,
  itemId,
  type Json,
  limit,
  type Tool,
  type ToolCall,
  text,
  tool,
} from './tool.js'
import { approvalNamed } from './visit.js'

/** Returns the account that the user granted the agent. Throws `account_not_granted`. */
function grantedTo({ agent }: Pick<ToolCall, 'agent'>): number {
  if (agent.account_id === null) throw problem('account_not_granted')
  return agent.account_id
}

const page = z.object({ limit: z.optional(limit), after: z.optional(count('The `next` of the previous page.')) })

/** Removes a twin's key, because it would let its bearer act as the business. */
const withoutKey = <T extends { key: string | null }>(twin: T): T => ({ ...twin, key: null })

const ownTools = [
  tool({
    name: 'twin_status',
    title: 'Wallets of the business',
    description:
      'Read the business account that the user granted you, and the balances of its wallets (twins), into which sales are paid.',
    input: page,
    output: z.object({
      account: z.object({ id: z.int(), name: z.nullable(z.string()), businessName: z.nullable(z.string()) }),
      twins: z.array(z.object({ ...shape.TwinShape.shape, name: z.nullable(z.string()) })),
      next: z.nullable(z.int()),
    }),
    async read(tx, bounds, call) {
      const { id, name, business_name: businessName } = await accountOf(tx, grantedTo(call))
      const { twins, next } = await listTwins(tx, `account:${id}`, bounds, call.service)
      const named = []
      for (const twin of twins) named.push({ ...withoutKey(twin), name: await twinName(tx, twin.id) })
      return { account: { id, name, businessName }, twins: named, next }
    },
  }),
  tool({
    name: 'create_twin',
    title: 'Create a wallet for the business',
    description:
      'Create another, empty wallet for the business, to separate some of its sales. Most businesses need only one.',
    input: z.object({ dq: z.optional(text('The hash of its digital quantity. Default: that of the first wallet.')) }),
    output: shape.TwinShape,
    async write(tx, { dq }, call) {
      const owner = `account:${grantedTo(call)}` as const
      const own = dq ?? (await primaryTwin(tx, owner))?.dq ?? (await firstQuantity(tx)).id
      return withoutKey(await createOwnTwin(tx, { owner, dq: own, at: call.service.clock.now() }, call.service))
    },
  }),
  tool({
    name: 'list_my_tools',
    title: 'Tools of the business',
    description:
      'List the tools that the business sells to agents, newest first, with price, endpoint and whether they are active.',
    input: page,
    output: z.object({ tools: z.array(shape.ToolShape), next: z.nullable(z.int()) }),
    read: async (tx, bounds, call) => listTools(tx, grantedTo(call), bounds),
  }),
  tool({
    name: 'test_tool',
    title: 'Try a tool of the business',
    description:
      'Call the endpoint of something that the business sells, as a purchase would, and return its answer. Nobody pays and there is no receipt, but the endpoint is called.',
    input: z.object({ catalog_item_id: itemId, arguments: z.optional(itemArguments) }),
    output: z.object({
      ok: z.boolean(),
      failure: z.nullable(z.string()),
      response: z.nullable(
        z.object({
          status: z.int(),
          content_type: z.nullable(z.string()),
          body: z.string(),
          body_encoding: z.optional(z.literal('base64')),
        }),
      ),
    }),
    hints: { reachesOut: true },
    async call({ catalog_item_id: itemId, arguments: args = {} }, call) {
      const order = { accountId: grantedTo(call), itemId, args, hops: call.hops }
      const { delivered, failure } = await rehearsePurchase(order, call.service)
      return { ok: failure === undefined, failure: failure ?? null, response: delivered ?? null }
    },
  }),
]

type Change = Json & { readonly kind: string }
const ChangeShape = z.record(z.string(), z.unknown())
const Changed = z.object({ approval_id: z.string(), change: ChangeShape, result: z.record(z.string(), z.unknown()) })

/** Throws `account_not_granted`, `approval_required`, `approval_mismatch`, and what `applyAccountChange` throws. */
async function changed(call: ToolCall, given: string | undefined, { kind, ...fields }: Change): Promise<object> {
  grantedTo(call)
  const { agent, service, approvalId: id = given } = call
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined)
  const change: Change = { kind, ...Object.fromEntries(sent) }
  if (id === undefined) throw problem('approval_required', { fields: { approval: { kind: 'account_change', change } } })
  const { detail } = await approvalNamed(call, id)
  if (!holds(isObject(detail.change) ? detail.change : {}, change))
    throw problem('approval_mismatch', { fields: { approval_id: id } })
  return applyAccountChange(agent, id, service)
}

/** Whether the approved change contains the requested one. It may contain defaults too. */
const holds = (approved: Readonly<Json>, change: Json): boolean =>
  Object.entries(change).every(([name, value]) => canonicalJson(approved[name]) === canonicalJson(value))

const name = text('1 to 64 characters.')
const description = text('What it does, for agents that search for it: up to 1,024 characters.')
const price = shape.Amount.check(z.describe('In the digital quantity; 0 is free.'))
const url = text('The endpoint that a purchase calls. {input.NAME} is replaced by a required argument.')
const schema = shape.ServiceSchema.check(z.describe('JSON Schema (2020-12) of the arguments, of type object.'))
const call = { service_method: z.optional(shape.ServiceMethod), input_schema: z.optional(schema) }

const asItem = ({ price_per_call, service_url, input_schema, ...same }: Json): Json => ({
  ...{ ...same, price: price_per_call, external_endpoint: service_url },
  service_schema: input_schema,
})

const changeTools = [
  tool({
    name: 'register_tool',
    title: 'Sell a tool',
    description:
      'Sell calls of an endpoint of the business: creates a catalog item and a tool of the business’s own MCP server. The plan of the business limits its active items: 25 in Free, 500 in Growth. The user must approve it first. Without approval, this returns the arguments for request_approval.',
    input: z.object({
      ...{ description, price_per_call: price, service_url: url, ...call, name },
      approval_id: z.optional(approvalId),
    }),
    output: Changed,
    hints: { spends: true },
    call: ({ approval_id, ...given }, call) => {
      const { service_method = 'POST', input_schema = { type: 'object', properties: {} } } = given
      const item = asItem({ ...given, service_method, input_schema })
      return changed(call, approval_id, { kind: 'create_item', ...item, featured: true })
    },
  }),
  tool({
    name: 'update_tool',
    title: 'Change a tool',
    description:
      'Change something that the business sells. Fields that you leave out stay. The user must approve it first.',
    input: z.object({
      description: z.optional(description),
      price_per_call: z.optional(price),
      service_url: z.optional(url),
      ...call,
      catalog_item_id: itemId,
      name: z.optional(name),
      active: z.optional(z.boolean()),
      approval_id: z.optional(approvalId),
    }),
    output: Changed,
    hints: { spends: true, repeats: true },
    call: ({ approval_id, ...given }, call) => changed(call, approval_id, { kind: 'update_item', ...asItem(given) }),
  }),
  tool({
    name: 'deactivate_tool',
    title: 'Stop selling a tool',
    description: 'Stop selling something until it is activated again. The user must approve it first.',
    input: z.object({ catalog_item_id: itemId, approval_id: z.optional(approvalId) }),
    output: Changed,
    hints: { spends: true, repeats: true },
    call: ({ approval_id, catalog_item_id }, call) =>
      changed(call, approval_id, { kind: 'update_item', catalog_item_id, active: false }),
  }),
  tool({
    name: 'request_account_change',
    title: 'Propose a change of the business',
    description:
      'Ask the user to approve a change of the business: `update_item`, `create_item`, `rename_wallet` or `update_account`, with the fields of each. `update_account` takes `name` and `businessName`, as PUT /v4/account does, `business_address`, `billing_email` and `tax_number`. Show the user the `url` of the result. When they have approved, call apply_account_change.',
    input: z.object({ change: ChangeShape.check(z.describe('`kind`, and the fields to change.')) }),
    output: shape.ApprovalShape,
    async write(tx, { change }, call) {
      grantedTo(call)
      return requestApproval(tx, call.agent, wishOf({ kind: 'account_change', change }), call.service)
    },
  }),
  tool({
    name: 'apply_account_change',
    title: 'Apply an approved change of the business',
    description: 'Apply the change that the user approved, once and exactly as they saw it.',
    input: z.object({ approval_id: approvalId }),
    output: Changed,
    hints: { spends: true },
    async call({ approval_id }, call) {
      await approvalNamed(call, approval_id)
      return applyAccountChange(call.agent, approval_id, call.service)
    },
  }),
]

export const sellerTools: readonly Tool[] = [...ownTools, ...changeTools]
