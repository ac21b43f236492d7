import type { TextsOf } from '../../http/openapi/texts.js'
import type { transferRoutes } from './routes.js'

export const transferTexts: TextsOf<typeof transferRoutes> = {
  operations: {
    createTransfer:
      'For an account, a user, or an agent with an `approval_id`. The amount of an invitation is held for 30 days. Send an `Idempotency-Key`, so that a retry does not send twice.',
    listTransfers: 'For an account or a user.',
    readTransfer: 'For the sender, the recipient, or who may claim it. Anybody else gets `not_found`.',
    claimTransfer: 'For the user with the invited address, once proven.',
    cancelTransfer: 'For the sender. A claimed transfer cannot be cancelled.',
    openInvitation: 'For the reader of the mail. It changes nothing.',
    answerInvitation: 'For the reader of the mail. The answer redirects to the same page.',
  },
  fields: {
    transfers: 'The transfers, newest first.',
    dq: 'The hash of the digital quantity. Default: that of the sender’s twin.',
  },
  components: {
    Transfer: {
      is: 'Value that was sent to a twin or an email address.',
      hostname: "The hostname of the sender's twin.",
      address: 'Where it was sent, as the sender wrote it.',
      memo: 'A note for the recipient. Null: there is none.',
      expires_at: 'Until when an invitation can be claimed, in Unix seconds. Null: it is no invitation.',
      status: '`invited` until it is `completed`, `cancelled` or `expired`.',
      dq: 'The hash of the digital quantity.',
    },
  },
}
