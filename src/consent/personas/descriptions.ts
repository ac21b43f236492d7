import type { TextsOf } from '../../http/openapi/texts.js'
import type { personaRoutes } from './routes.js'

export const personaTexts: TextsOf<typeof personaRoutes> = {
  operations: {
    createPersona: 'For an account or a user. The twin must be the caller’s.',
    listDelegateMapping: 'For an account or a user. Revoked delegates are left out.',
    readPersona: 'Anybody may call this.',
    verifyPersona:
      "For every caller, and for pages with a `public_secret`. The twin need not be the caller's. Revoked delegates do not count.",
    createDelegate:
      'For the owner of the persona. Delegates of a persona are numbered 1, 2, 3 … Send an `Idempotency-Key`, so that a retry gives no second one.',
    listDelegates: 'For the owner of the persona.',
    deleteDelegate: 'For the owner of the persona. A retry changes nothing more.',
  },
  fields: {
    hash: 'The hash of the persona.',
    delegate: 'The hash of the delegate.',
    name: 'The name.',
    description: 'Who the persona is.',
    twin_id: 'The id of the twin.',
    issue_min: 'Count only delegates with at least this number.',
    issue_max: 'Count only delegates with at most this number.',
    disclosable: 'Whether to return only what anybody may see.',
    message: 'A sentence for people.',
    instances: 'The hashes of the delegates.',
    delegates: 'The delegates, newest first.',
    persona: 'The hash of the persona.',
    issue: 'The number of the delegate: 1, 2, 3 …',
    spend: 'The spending authority. Absent or null: the delegate cannot spend.',
    'spend.party': 'Who may spend.',
    'spend.limit': 'How much may be spent in a period, in the digital quantity.',
    'spend.period': 'How often the limit starts again. Null: never.',
    'spend.expires_at': 'When the authority ends, in Unix seconds or ISO 8601. Null or absent: never.',
    'verifyPersona.status': '200 if the twin holds a delegate, else 404.',
    'createDelegate.hostname': 'The hostname of the twin that gets the delegate.',
    'createDelegate.name': 'The name of the holder.',
    'createDelegate.email': 'The email address of the holder.',
    'createDelegate.hash': 'In the path: the hash of the persona. In the answer: the hash of the delegate.',
  },
  components: {
    Persona: {
      is: 'An identity that is anchored to a twin and gives delegates to others.',
      description: 'Who the persona is. Null: it does not say.',
      hostname: 'The hostname of its twin.',
    },
    SpendingParty: { is: 'Who may spend: an app by its `client_id`, or an account by its `public_secret`.' },
    Delegate: {
      is: 'What a persona gave to a twin.',
      hash: 'The hash of the delegate.',
      hostname: 'The hostname of the twin that holds it.',
      name: 'The name of the holder. Null: unknown.',
      email: 'The email address of the holder. Null: unknown.',
      revoked_at: 'When it was revoked, in Unix seconds. Null: it is valid.',
      spend: 'The spending authority. Null: the delegate cannot spend.',
    },
  },
}
