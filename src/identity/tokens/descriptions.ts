import type { TextsOf } from '../../http/openapi/texts.js'
import type { tokenRoutes } from './routes.js'

const exchange =
  'Send client credentials (Basic) or a refresh token (Bearer). An access token with at least five minutes left is returned unchanged. A refresh token works once, and gets a new pair. The credentials decide whose token it is, not the path.'

export const tokenTexts: TextsOf<typeof tokenRoutes> = {
  operations: { createAccountToken: exchange, createUserToken: exchange },
  components: {
    TokenRequest: {
      is: 'A request for tokens. It may be empty.',
      grant_type: '`client_credentials`. It may be absent.',
    },
    TokenPair: {
      is: 'An access token and a refresh token.',
      expires_at: 'When the access token expires, in Unix seconds: one hour after it was created.',
      refresh_expires_at: 'When the refresh token expires, in Unix seconds: 24 hours after it was created.',
    },
  },
}
