import { type TextsOf, WHOLE_LIST_LIMIT } from '../../http/openapi/texts.js'
import type { secondFactorRoutes } from './routes.js'

export const secondFactorTexts: TextsOf<typeof secondFactorRoutes> = {
  operations: {
    createAuthenticationRequest:
      'For a user, by access token or session. It waits two minutes for an answer. At most 5 requests of a user are pending.',
    readAuthenticationRequest:
      'For a user, by access token or session. Polling faster than `interval` gets `slow_down`.',
    approveAuthenticationRequest:
      'For a user, from a registered device. The session that made the request cannot answer it.',
    rejectAuthenticationRequest:
      'For a user, from a registered device. The session that made the request cannot answer it.',
    openMailedRequest:
      'For the reader of the mail, in another session than the one that made the request. It changes nothing.',
    answerMailedRequest: 'For the reader of the mail, in another session than the one that made the request.',
    listAuthorizations: 'For the access token of a user.',
    answerAuthorization: 'For the access token of a user. An answer is final.',
    deleteAuthorization: 'For the access token of a user. What it approved for later payments ends.',
  },
  fields: {
    'listAuthorizations.limit': WHOLE_LIST_LIMIT,
    action: 'What is to be approved: a snake_case name of yours.',
    detail: 'What the user sees, by name. It is shown as your words, without links.',
    authorizations: 'The authorizations, newest first.',
    authorizationId: 'The id of the authorization.',
    approved: 'True approves, false denies.',
    answer: 'What the reader decided.',
    success: 'Always true.',
    message: 'A sentence for people.',
  },
  components: {
    AuthenticationRequest: {
      is: "One question to a user's second factor.",
      action: 'What is to be approved.',
      detail: 'What the user sees, by name.',
      interval: 'How many seconds to wait between two polls.',
    },
    Authorization: {
      is: 'A payment that a paywall asked a user to authorize.',
      merchant_url: 'The address of the payee. Null: unknown.',
      merchant_name: 'The name of the payee. Null: unknown.',
      payment_type_hash: 'The hash of the digital quantity. Null: unknown.',
      authorized_at: 'When the user approved it, in Unix seconds. Null: they did not.',
      metadata: 'The amount, when it was asked for, and further detail.',
      'metadata.amount': 'The amount. Absent: unknown.',
      'metadata.requestedAt': 'When it was asked for, in Unix milliseconds.',
    },
    AnsweredAuthorization: {
      is: 'The result of an answer to an authorization.',
      success: 'Always true.',
      authorizationId: 'The id of the authorization, as it was sent.',
      message: 'A sentence for people.',
    },
  },
}
