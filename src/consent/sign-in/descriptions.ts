import type { TextsOf } from '../../http/openapi/texts.js'
import type { signInRoutes } from './routes.js'

export const signInTexts: TextsOf<typeof signInRoutes> = {
  operations: {
    verifySessionCode:
      'For the session that requested the code, which is used up. An unknown address signs up. Five wrong codes end the code.',
  },
  fields: {
    email: 'The email address that the code was mailed to.',
    request_id: 'The id of the approved authentication request.',
    request: 'The authentication request that the user must approve.',
    session_id: 'The new id of the session.',
  },
}
