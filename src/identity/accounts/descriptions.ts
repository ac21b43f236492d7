import type { TextsOf } from '../../http/openapi/texts.js'
import type { accountRoutes } from './routes.js'

export const accountTexts: TextsOf<typeof accountRoutes> = {
  operations: {
    createAccount:
      'Anybody may call this, unless the service forbids it. It creates an account without a name, a user or a twin. Send an `Idempotency-Key`, so that a retry does not create a second one.',
    readAccount:
      'For the access token of an account. The client secret is null here, because only its creation shows it.',
    updateAccount:
      'For the access token of an account. Send `name`, `businessName` or both. Buyers see `businessName`, or `name` if there is none. A retry changes nothing more.',
    registerAccount:
      'Anybody may call this, unless the service forbids it. On any failure nothing is created. The twin has no key here: read it with GET /v4/twins. The user signs in with a mailed code and becomes the owner then.',
  },
  fields: {
    name: 'The name of the account. Null: it has none.',
    businessName: 'The name that buyers see. Null: they see `name`.',
    dq: 'The hash of the digital quantity in which the twin transacts. GET /v4/dq lists them.',
    'registerAccount.email': 'The email address of the owner.',
    'registerAccount.account': 'The account, with its client secret.',
    'registerAccount.twin': 'Its primary twin.',
    'registerAccount.user': 'Its owner, without credentials.',
    'updateAccount.created_at': 'When the account was created, in Unix seconds.',
    'updateAccount.updated_at': 'When the account was changed last, in Unix seconds.',
  },
  components: {
    Account: {
      is: 'An account with its credentials.',
      secrets: 'The publishable secret, then the client credentials.',
      created_at: 'When the account was created, in Unix seconds, as digits.',
      updated_at: 'When the account was changed last, in Unix seconds, as digits.',
    },
    PublicSecret: { is: 'The publishable secret of an account.' },
    AccountClientSecret: {
      is: 'The client credentials of an account.',
      client_id: 'The client id.',
      client_secret: 'The client secret. Null except in the answer that creates the account.',
    },
  },
}
