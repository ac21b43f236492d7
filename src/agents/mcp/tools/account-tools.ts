import { canonicalJson } from '../../../base/hash.js'
import { problem } from '../../../base/problem.js'
import { Amount, ApprovalShape, ServiceMethod, ServiceSchema, z } from '../../../http/fields/schema.js'
import { isObject } from '../../../storage/unknown.js'
import { applyAccountChange } from '../../agents/changes/apply.js'
import { requestApproval, wishOf } from '../../agents/request.js'
import { approvalNamed } from './given-approval.js'
import { approvalId, itemId, text } from './input.js'
import { grantedTo } from './seller-tools.js'
import { type Json, type ToolCall, tool } from './tool.js'

type Change = Json & { readonly kind: string }

/** What the user approves for the business is done as they approved it, whoever asked: an agent changes nothing of itself. */

const ChangeShape = z.record(z.string(), z.unknown())
const Changed = z.object({ approval_id: z.string(), change: ChangeShape, result: z.record(z.string(), z.unknown()) })

/** Does what was approved; without approval, says what to ask for. Throws `account_not_granted`, `approval_required`, `approval_mismatch` and as `applyAccountChange`. */
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

/** Whether a change that was approved is the one that is called for: it also says what is left out. */
const holds = (approved: Readonly<Json>, change: Json): boolean =>
  Object.entries(change).every(([name, value]) => canonicalJson(approved[name]) === canonicalJson(value))

const withoutGaps = ({ kind, ...fields }: Change): Change => ({
  kind,
  ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
})

const fields = {
  description: z.optional(text('What it does, for agents who look for it: up to 1,024 characters.')),
  price_per_call: z.optional(Amount.check(z.describe('In the digital quantity; 0 is free.'))),
  service_url: z.optional(
    text('The endpoint that a purchase calls. {input.NAME} stands for an argument that is required.'),
  ),
  service_method: z.optional(ServiceMethod),
  input_schema: z.optional(ServiceSchema.check(z.describe('JSON Schema (2020-12) of the arguments, of type object.'))),
}

/** The change of an item, by the names that items have. */
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
    'Put an endpoint of the business up for sale: an item of the catalog, and a tool of the business’s own MCP server. The user approves it first: without approval this answers what to ask request_approval for.',
  input: z.object({
    ...fields,
    name: text('1 to 64 characters.'),
    description: text('What it does, for agents who look for it: up to 1,024 characters.'),
    price_per_call: Amount.check(z.describe('In the digital quantity; 0 is free.')),
    service_url: text('The endpoint that a purchase calls. {input.NAME} stands for an argument that is required.'),
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
  description: 'Change something that the business sells: what is not given stays. The user approves it first.',
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
  description: 'Sell something no more, until it is activated again. The user approves it first.',
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
    'Ask the user to approve a change of the business: `update_item`, `create_item`, `rename_wallet` or `update_account`, with the fields of each. Show the user the `url` that this answers; once they approved, apply_account_change makes it.',
  input: z.object({ change: ChangeShape.check(z.describe('`kind`, and the fields that are to change.')) }),
  output: ApprovalShape,
  hints: {},
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
  title: 'Make an approved change of the business',
  description: 'Make the change that the user approved, once: exactly what they were shown.',
  input: z.object({ approval_id: approvalId }),
  output: Changed,
  hints: { spends: true },
  async call({ approval_id }, call) {
    await approvalNamed(call, approval_id)
    return applyAccountChange(call.agent, approval_id, call.service)
  },
})

export default [registerTool, updateTool, deactivateTool, requestAccountChange, applyAccountChangeTool]
