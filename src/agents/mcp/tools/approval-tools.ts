import { ApprovalShape, UnixSeconds, z } from '../../../http/fields/schema.js'
import { offerAccountChoice } from '../../agents/account-choice.js'
import { requestApproval as ask, wishKinds, wishOf } from '../../agents/request.js'
import { approvalNamed } from './given-approval.js'
import { amount, cartId, dq, itemArguments, itemId, text, tool } from './tool.js'

const requestApproval = tool({
  name: 'request_approval',
  title: 'Ask the user for approval',
  description:
    'Ask the user to approve one call, exactly as you will make it. A refusal with code approval_required contains the arguments in its `approval`. Show the user the `url` of the result, where they approve. Then make the call once with the approval_id. approval_status says whether they have approved.',
  input: z.object({
    kind: z.enum(wishKinds).check(z.describe('The call to approve. The other arguments are those of that call.')),
    catalog_item_id: z.optional(itemId),
    arguments: z.optional(itemArguments),
    price: z.optional(amount('Of a purchase: the price you saw. If it has changed, the user is not asked.')),
    cart_id: z.optional(cartId),
    address: z.optional(text('Of a transfer: the hostname of a wallet, or an email.')),
    amount: z.optional(amount('Of a transfer or a paywall call, in the digital quantity.')),
    dq: z.optional(dq),
    memo: z.optional(z.nullable(z.string())),
    destination: z.optional(z.string()),
    serviceUrl: z.optional(z.string()),
    serviceMethod: z.optional(z.enum(['GET', 'POST', 'PUT'])),
    additionalParams: z.optional(z.record(z.string(), z.unknown())),
  }),
  output: ApprovalShape,
  call: (wish, { agent, within, service }) =>
    service.storage.write((tx) => ask(tx, agent, wishOf(wish), service, within)),
})

const approvalStatus = tool({
  name: 'approval_status',
  title: 'Check whether the user approved',
  description:
    'Read an approval that you requested. `approved`: make the call within an hour. `pending`: the user has not answered yet. Wait a few seconds before you check again.',
  input: z.object({ approval_id: text('The id from request_approval.') }),
  output: ApprovalShape,
  hints: { reads: true },
  call: ({ approval_id }, call) => approvalNamed(call, approval_id),
})

const chooseAccount = tool({
  name: 'choose_account',
  title: 'Ask the user for a business account',
  description:
    'Ask the user which of their business accounts you may manage, if any. Show the user the `url` of the result, where they choose within 15 minutes. Then the seller tools work, and agent_wallet_info says which account it is.',
  input: z.object({}),
  output: z.object({ url: z.string(), expires_at: UnixSeconds }),
  call: (_, { agent, service }) => service.storage.write((tx) => offerAccountChoice(tx, agent, service)),
})

export default [requestApproval, approvalStatus, chooseAccount]
