import type { TextsOf } from '../../http/openapi/texts.js'
import type { agentRoutes } from './routes.js'

export const agentTexts: TextsOf<typeof agentRoutes> = {
  operations: {
    readAgentAccount: 'For an agent. A choice that the user makes at a link shows here at once.',
    createAccountChoice: 'For an agent. Give the link to the user. It changes nothing until the user chooses.',
    createApproval:
      'For an agent. The user gets a message and answers within 15 minutes. Nothing moves yet. Send an `Idempotency-Key`, so that a retry asks only once.',
    readApproval: 'For the agent that requested it, or its user. Anybody else gets `not_found`.',
    applyAccountChange:
      'For an agent with a granted account. A change that fails before anything was made leaves the approval unspent. A change that fails part-way keeps what was made and answers `changed: true`.',
    openAccountChoice: 'For the user of the agent. It changes nothing.',
    answerAccountChoice: 'For the user of the agent. The answer redirects to the same page.',
  },
  fields: {
    account: 'The business account that the user granted. Null: none.',
    'account.id': 'The id of the account.',
    'account.name': 'The name of the account. Null: it has none.',
    choosable: 'Whether the user belongs to an account, and can choose one for this agent.',
    'createAccountChoice.url': 'The page on which the user chooses.',
    kind: 'What the agent wants to do. The other fields are those of that call.',
    price: 'The price that the agent saw. If it has changed, nothing is requested.',
    cart_id: 'The id of the cart to pay.',
    change: 'The change of the account: its `kind` and its fields.',
    result: 'What was changed: `item` and `commodity`, `twin` or `account`.',
    'applyAccountChange.change': 'The change that was made.',
    'answerAccountChoice.account': 'The id of the chosen account, or empty for none.',
    email: 'The email address of the user.',
    'readApproval.id': 'The id of the approval.',
  },
}
