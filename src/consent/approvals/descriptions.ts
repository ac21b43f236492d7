import type { TextsOf } from '../../http/openapi/texts.js'
import type { approvalRoutes } from './routes.js'

export const approvalTexts: TextsOf<typeof approvalRoutes> = {
  operations: {
    listApprovals: 'For a user, by access token or session.',
    approveApproval:
      'For a user, by access token or session. Send the price that the user saw, to refuse a changed one.',
    rejectApproval: 'For a user, by access token or session. The answer is final.',
    readAgentSettings: 'For a user, by access token or session.',
    updateAgentSettings:
      'For a user, by access token or session. It replaces the amounts of all digital quantities that it names.',
    openApproval: 'For the user of the approval. It changes nothing.',
    answerApproval: 'For the user of the approval. The answer redirects to the same page.',
  },
  fields: {
    id: 'The id of the approval.',
    approvals: 'The approvals, newest first.',
    status: 'Only approvals with this status.',
    price: 'The price that the user saw. If it has changed, nothing is approved.',
    dq: 'The hash of the digital quantity that the user saw.',
  },
  components: {
    Approval: {
      is: 'What an agent wants to do, and whether its user agreed.',
      approval_id: 'The id of the approval.',
      kind: 'What the agent wants to do.',
      status: '`pending` for 15 minutes, then `expired`. `approved` for one hour, until it is `spent`.',
      detail: 'Exactly what is approved.',
      summary: 'One sentence that the user reads.',
      url: 'Where the user answers.',
      spent_at: 'When it was spent, in Unix seconds. Null: it was not.',
    },
    AgentSettings: {
      is: "How much a user's agents may pay without an approval.",
      approval_threshold: 'The amounts, by the hash of their digital quantity.',
    },
  },
}
