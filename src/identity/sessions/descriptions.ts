import type { TextsOf } from '../../http/openapi/texts.js'
import type { sessionRoutes } from './routes.js'

export const sessionTexts: TextsOf<typeof sessionRoutes> = {
  operations: {
    readSession: 'Anybody may call this. A session that holds nothing is not stored.',
    createSession: 'For the access token of a user. The session lasts 24 hours and acts for the user.',
    createPageSession:
      'For a signed-in session. The new session belongs to the page of `origin` around an embed. Each of its payments needs the second factor of the user.',
    sendSessionCode:
      'Anybody may call this. The answer is the same whether or not the user exists. Verify the code in the same session. At most 5 unused codes are mailed to an address in 15 minutes.',
    deleteSession: 'Anybody may call this. The session ends wherever it is used. A retry changes nothing.',
    listSessions: 'For a user, by access token or session.',
    deleteSessionById: 'For a user, by access token or session. A retry gets `not_found`.',
  },
  fields: {
    user: 'The signed-in user. Null for guests.',
    hash: 'The hash of the commodity or persona of the embed.',
    origin: 'The origin of the page around the embed.',
    sessions: 'The sessions, newest first.',
    'sendSessionCode.email': 'Where the code is mailed.',
    'sendSessionCode.expires_at': 'When the code expires, in Unix seconds.',
  },
  components: {
    SignedInSession: {
      is: 'A session in which the user is signed in.',
      current: 'Whether this request came with it.',
      origin: 'The origin of the page that it belongs to. Null: it belongs to no page.',
    },
  },
}
