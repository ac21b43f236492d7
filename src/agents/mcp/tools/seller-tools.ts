import { problem } from '../../../base/problem.js'
import { ToolShape, TwinShape, z } from '../../../http/fields/schema.js'
import { accountOf } from '../../../identity/accounts/account.js'
import { rehearsePurchase } from '../../../market/purchases/fulfilment.js'
import { firstQuantity } from '../../../money/digital-quantities/digital-quantity.js'
import { createOwnTwin, listTwins, primaryTwin, twinName } from '../../../money/twins/twin.js'
import { listTools } from './registry.js'
import { count, itemArguments, itemId, limit, type ToolCall, text, tool } from './tool.js'

/** Returns the account that the user granted the agent. Throws `account_not_granted`. */
export function grantedTo({ agent }: Pick<ToolCall, 'agent'>): number {
  if (agent.account_id === null) throw problem('account_not_granted')
  return agent.account_id
}

const nextPage = count('The `next` of the previous page.')

const twinStatus = tool({
  name: 'twin_status',
  title: 'Wallets of the business',
  description:
    'Read the business account that the user granted you, and the balances of its wallets (twins), into which sales are paid.',
  input: z.object({ limit: z.optional(limit), after: z.optional(nextPage) }),
  output: z.object({
    account: z.object({ id: z.int(), name: z.nullable(z.string()), businessName: z.nullable(z.string()) }),
    twins: z.array(z.object({ ...TwinShape.shape, name: z.nullable(z.string()) })),
    next: z.nullable(z.int()),
  }),
  hints: { reads: true },
  call: (page, call) =>
    call.service.storage.read(async (tx) => {
      const { id, name, business_name: businessName } = await accountOf(tx, grantedTo(call))
      const { twins, next } = await listTwins(tx, `account:${id}`, page, call.service)
      const named = []
      for (const twin of twins) named.push({ ...withoutKey(twin), name: await twinName(tx, twin.id) })
      return { account: { id, name, businessName }, twins: named, next }
    }),
})

/** Removes a twin's key, because it would let its bearer act as the business. */
const withoutKey = <T extends { key: string | null }>(twin: T): T => ({ ...twin, key: null })

const createTwin = tool({
  name: 'create_twin',
  title: 'Create a wallet for the business',
  description:
    'Create another, empty wallet for the business, to separate some of its sales. Most businesses need only one.',
  input: z.object({ dq: z.optional(text('The hash of its digital quantity. Default: that of the first wallet.')) }),
  output: TwinShape,
  call: ({ dq }, call) =>
    call.service.storage.write(async (tx) => {
      const owner = `account:${grantedTo(call)}` as const
      const own = dq ?? (await primaryTwin(tx, owner))?.dq ?? (await firstQuantity(tx)).id
      return withoutKey(await createOwnTwin(tx, { owner, dq: own, at: call.service.clock.now() }, call.service))
    }),
})

const listMyTools = tool({
  name: 'list_my_tools',
  title: 'Tools of the business',
  description:
    'List the tools that the business sells to agents, newest first, with price, endpoint and whether they are active.',
  input: z.object({ limit: z.optional(limit), after: z.optional(nextPage) }),
  output: z.object({ tools: z.array(ToolShape), next: z.nullable(z.int()) }),
  hints: { reads: true },
  call: (page, call) => call.service.storage.read((tx) => listTools(tx, grantedTo(call), page)),
})

const testTool = tool({
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
    const { delivered, failure } = await rehearsePurchase(
      { accountId: grantedTo(call), itemId, args, hops: call.hops },
      call.service,
    )
    return { ok: failure === undefined, failure: failure ?? null, response: delivered ?? null }
  },
})

export default [twinStatus, createTwin, listMyTools, testTool]
