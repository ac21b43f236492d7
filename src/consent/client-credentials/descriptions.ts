import type { TextsOf } from '../../http/openapi/texts.js'
import type { clientCredentialRoutes } from './routes.js'

export const clientCredentialTexts: TextsOf<typeof clientCredentialRoutes> = {
  operations: {
    createUserSecrets:
      'For a user, by access token or session. It takes up to two minutes with a session, while the user answers. Send an `Idempotency-Key`, so that a retry creates nothing more.',
  },
  fields: { secrets: 'All client credentials of the user that work, newest first.' },
}
