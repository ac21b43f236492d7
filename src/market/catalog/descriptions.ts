import { ITEM_LIMITS, type TextsOf } from '../../http/openapi/texts.js'
import type { catalogRoutes } from './routes.js'

export const catalogTexts: TextsOf<typeof catalogRoutes> = {
  operations: {
    listCatalogItems: 'Anybody may call this.',
    createCatalogItem: `For the access token of an account. Send an \`Idempotency-Key\`, so that a retry does not create a second item. ${ITEM_LIMITS} With \`active: false\`, it does not count.`,
    readCatalogItem:
      'Anybody may read a public item. Private, inactive and archived items need the token of their account.',
    updateCatalogItem: 'For the account of the item. Omitted fields stay unchanged. A retry changes nothing more.',
    archiveCatalogItem: 'For the account of the item.',
    restoreCatalogItem: 'For the account of the item.',
    listOwnCatalogItems: 'For the access token of an account. It includes private, inactive and archived items.',
    listDispatchParameters: 'For the account of the item.',
    replaceDispatchParameters:
      'For the account of the item. Parameters that the list leaves out are deleted. A retry without ids creates them anew.',
  },
  fields: {
    id: 'The id of the item.',
    query: 'Beginnings of words in name, description or seller.',
    offset: 'How many items to skip, up to 1,000. Search for words to find others.',
    created_after: 'Only items created after this time, in Unix seconds or ISO 8601.',
    items: 'The items, newest first.',
    total: 'How many items match.',
    name: 'The name of the item, of 1 to 64 characters.',
    description: 'What the item does, in up to 1,024 characters.',
    twin_id: 'The id of the twin that sells it. Default: a new twin.',
    dq: 'The hash of the digital quantity. Default: the first one of the service.',
    parameters: 'The dispatch parameters.',
    'parameters.id': 'The id of a parameter to keep. Absent or null: it is new.',
    'parameters.name': 'The name of the header or query parameter, or NAME of `{secret.NAME}` in the endpoint.',
    'parameters.kind': 'Where the value goes.',
    'parameters.value': 'The value. Absent: the stored value stays.',
    sensitive: 'Whether the value is never shown again.',
  },
  components: {
    CatalogItem: {
      is: 'Something that is sold to agents and people.',
      dq: 'The hash of the digital quantity.',
      commodity_hash: 'The hash of its commodity.',
      commodity_name: 'The same as `name`.',
      commodity_description: 'The same as `description`.',
      commodity_cost: 'The same as `price`.',
      hostname: 'The hostname of the twin that sells it.',
      external_endpoint: 'The URL that farthing calls to deliver. Only the account of the item sees it.',
    },
    DispatchParameters: { is: 'The dispatch parameters of an item.' },
    DispatchParameter: {
      is: 'A value that farthing adds when it calls an item. It is stored encrypted.',
      id: 'The id. Send it back to keep the parameter.',
      kind: 'Where the value goes.',
      name: 'The name of the header or query parameter, or NAME of `{secret.NAME}` in the endpoint.',
      value: 'The value. Null if it is sensitive.',
      value_set: 'False: the stored value cannot be read any more. Enter it again.',
      updated_at: 'When it was changed last, in ISO 8601.',
    },
  },
}
