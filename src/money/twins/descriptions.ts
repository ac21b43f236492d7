import { type TextsOf, WHOLE_LIST_LIMIT } from '../../http/openapi/texts.js'
import type { twinRoutes } from './routes.js'

export const twinTexts: TextsOf<typeof twinRoutes> = {
  operations: {
    createTwin: 'For an account or a user. The new twin holds nothing.',
    createTwinNonce: "For the twin's owner. Give the nonce to whoever wants the proof.",
    verifyTwinNonce: 'For an account or a user. The nonce is spent: a second call gets `twin_nonce_refused`.',
    listTwins: 'For an account or a user.',
    readTwin: 'For the owner, or for a page of the account with its `public_secret`.',
  },
  fields: {
    dq: 'The hash of the digital quantity in which the twin transacts.',
    nonce: 'The nonce that proves control of the twin.',
    valid: 'Always true. A nonce that is not valid gets an error.',
    twins: 'The twins, newest first.',
    'readTwin.hostname': 'The hostname of the twin, or its id.',
    'listTwins.limit': WHOLE_LIST_LIMIT,
  },
  components: {
    Twin: {
      is: 'A wallet and merchant account in one.',
      key: 'The secret key of the twin. Null for everybody but its owner. No operation takes it yet.',
    },
  },
}
