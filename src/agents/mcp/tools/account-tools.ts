import { problem } from '../../../base/problem.js'
import { canonicalJson } from '../../../base/secrets.js'
import { Amount, ApprovalShape, ServiceMethod, ServiceSchema, z } from '../../../http/fields/schema.js'
import { isObject } from '../../../storage/unknown.js'
import { applyAccountChange } from '../../agents/changes/apply.js'
import { requestApproval, wishOf } from '../../agents/request.js'
import { approvalNamed } from './given-approval.js'
import { grantedTo } from './seller-tools.js'
import { approvalId, itemId, type Json, type ToolCall, text, tool } from './tool.js'

type Change = Json & { readonly kind: string }
const ChangeShape = z.record(z.string(), z.unknown())
const Changed = z.object({ approval_id: z.string(), change: ChangeShape, result: z.record(z.string(), z.unknown()) })

/** Throws `account_not_granted`, `approval_required`, `approval_mismatch`, and what `applyAccountChange` throws. */
async function changed(call: ToolCall, given: string | undefined, fields: Change): Promise<object> {
  grantedTo(call)
  const { agent, service, approvalId: id = given } = call
  const change = withoutGaps(fields)
  if (id === undefined) throw problem('approval_required', { fields: { approval: { kind: 'account_change', change } } })
  const { detail } = await approvalNamed(call, id)
  if (!holds(isObject(detail.change) ? detail.change : {}, change))
    throw problem('approval_mismatch', { fields: { approval_id: id } })
  return applyAccountChange(agent, id, service)
}

/** Whether the approved change contains the requested one. It may contain defaults too. */
const holds = (approved: Readonly<Json>, change: Json): boolean =>
  Object.entries(change).every(([name, value]) => canonicalJson(approved[name]) === canonicalJson(value))

const withoutGaps = ({ kind, ...fields }: Change): Change => ({
  kind,
  ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
})

const fields = {
  description: z.optional(text('What it does, for agents that search for it: up to 1,024 characters.')),
  price_per_call: z.optional(Amount.check(z.describe('In the digital quantity; 0 is free.'))),
  service_url: z.optional(text('The endpoint that a purchase calls. {input.NAME} is replaced by a required argument.')),
  service_method: z.optional(ServiceMethod),
  input_schema: z.optional(ServiceSchema.check(z.describe('JSON Schema (2020-12) of the arguments, of type object.'))),
}

const asItem = ({ price_per_call, service_url, input_schema, ...same }: Json): Json => ({
  ...same,
  price: price_per_call,
  external_endpoint: service_url,
  service_schema: input_schema,
})

const registerTool = tool({
  name: 'register_tool',
  title: 'Sell a tool',
  description:
    'Sell calls of an endpoint of the business: creates a catalog item and a tool of the business’s own MCP server. The plan of the business limits its active items: 25 in Free, 500 in Growth. The user must approve it first. Without approval, this returns the arguments for request_approval.',
  input: z.object({
    ...fields,
    name: text('1 to 64 characters.'),
    description: text('What it does, for agents that search for it: up to 1,024 characters.'),
    price_per_call: Amount.check(z.describe('In the digital quantity; 0 is free.')),
    service_url: text('The endpoint that a purchase calls. {input.NAME} is replaced by a required argument.'),
    approval_id: z.optional(approvalId),
  }),
  output: Changed,
  hints: { spends: true },
  call: ({ approval_id, ...given }, call) => {
    const { service_method = 'POST', input_schema = { type: 'object', properties: {} } } = given
    const item = asItem({ ...given, service_method, input_schema })
    return changed(call, approval_id, { kind: 'create_item', ...item, featured: true })
  },
})

const updateTool = tool({
  name: 'update_tool',
  title: 'Change a tool',
  description:
    'Change something that the business sells. Fields that you leave out stay. The user must approve it first.',
  input: z.object({
    ...fields,
    catalog_item_id: itemId,
    name: z.optional(text('1 to 64 characters.')),
    active: z.optional(z.boolean()),
    approval_id: z.optional(approvalId),
  }),
  output: Changed,
  hints: { spends: true, repeats: true },
  call: ({ approval_id, ...given }, call) => changed(call, approval_id, { kind: 'update_item', ...asItem(given) }),
})

const deactivateTool = tool({
  name: 'deactivate_tool',
  title: 'Stop selling a tool',
  description: 'Stop selling something until it is activated again. The user must approve it first.',
  input: z.object({ catalog_item_id: itemId, approval_id: z.optional(approvalId) }),
  output: Changed,
  hints: { spends: true, repeats: true },
  call: ({ approval_id, catalog_item_id }, call) =>
    changed(call, approval_id, { kind: 'update_item', catalog_item_id, active: false }),
})

const requestAccountChange = tool({
  name: 'request_account_change',
  title: 'Propose a change of the business',
  description:
    'Ask the user to approve a change of the business: `update_item`, `create_item`, `rename_wallet` or `update_account`, with the fields of each. `update_account` takes `name` and `businessName`, as PUT /v4/account does, `business_address`, `billing_email` and `tax_number`. Show the user the `url` of the result. When they have approved, call apply_account_change.',
  input: z.object({ change: ChangeShape.check(z.describe('`kind`, and the fields to change.')) }),
  output: ApprovalShape,
  call: ({ change }, call) => {
    grantedTo(call)
    const { agent, service } = call
    return service.storage.write((tx) =>
      requestApproval(tx, agent, wishOf({ kind: 'account_change', change }), service),
    )
  },
})

const applyAccountChangeTool = tool({
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
})

export default [registerTool, updateTool, deactivateTool, requestAccountChange, applyAccountChangeTool]
