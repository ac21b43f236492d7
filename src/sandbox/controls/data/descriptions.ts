import type { TextsOf } from '../../../http/openapi/texts.js'
import type { dataRoutes } from './routes.js'

export const dataTexts: TextsOf<typeof dataRoutes> = {
  operations: {
    readCredentials: 'It changes nothing. Only who may use the controls sees them.',
    actAsCaller: 'Nobody called, so it leaves no event. The caller need not have a credential that you know.',
    updateCommodity:
      'No client can do this, but owners of items can. A price that a payer has seen is then `price_changed`.',
    listCollections: 'It changes nothing. Collections whose ids are credentials are left out.',
    listRows:
      'It changes nothing. A call looks at 20,000 rows at most, so a search may answer with few rows, or none, and a `next`.',
  },
  fields: {
    accounts: 'The accounts.',
    'accounts.name': 'The name in the seed.',
    users: 'The users.',
    'users.code': 'The sign-in code, if the address has a fixed one.',
    principal: 'The caller, as the journal names it: `guest`, `account:1`, `user:2`, `agent:3`.',
    by: 'The kind of credential. Only users have sessions. Default: `token`.',
    headers: 'They identify the caller.',
    hash: 'The hash of the commodity.',
    descriptor: 'Name and receipt line.',
    cost: 'The price, in the digital quantity.',
    dq: 'The hash of the digital quantity.',
    hostname: 'The hostname of the twin that sells.',
    collections: 'The collections.',
    name: 'The name of the collection.',
    refs: 'The collection whose ids a field holds.',
    collection: 'The name of the collection.',
    q: 'A text that the row contains, in upper or lower case.',
    field: 'The name of the field that `value` is compared with.',
    value: 'The value of `field`. Other rows are left out.',
    rows: 'The rows. Credentials and encrypted fields are shown as `…`.',
  },
  components: {},
}
