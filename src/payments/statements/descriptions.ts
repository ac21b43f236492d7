import type { TextsOf } from '../../http/openapi/texts.js'
import type { statementRoutes } from './routes.js'

export const statementTexts: TextsOf<typeof statementRoutes> = {
  operations: {
    readBinder:
      "For the twin's owner. `Accept: text/csv` or `application/json` chooses the form. The CSV has the columns timestamp, fileAction, fileIdentity, fileType, amount, fromAddress and destinationAddress.",
    readInventory:
      "For the twin's owner. `Accept: text/csv` or `application/json` chooses the form. The CSV has the columns fileIdentity, issuer, fileType, amount, integrity and timestamp.",
  },
  fields: {
    from: 'Only entries from this time on, in Unix seconds or ISO 8601.',
    to: 'Only entries up to this time, in Unix seconds or ISO 8601.',
  },
  components: {
    BinderEntry: {
      is: 'One entry of a binder.',
      twistId: 'The id of the entry.',
      data: 'The entry and who wrote it.',
      'data.entry': 'What moved.',
      'data.entry.amount': 'The amount, in the digital quantity. Null: a delegate was received, and no value.',
      'data.entry.fromAddress': 'The address of the sender. Empty if this twin sent it.',
      'data.entry.type': 'The hash of the digital quantity. Empty for a delegate.',
      'data.entryAuthor': 'The address of the twin that wrote the entry.',
      'data.entryFiles': 'The hashes of what moved.',
      'data.entryOperation': 'Whether this twin received or sent.',
      'data.entryType': 'The kind of the entry.',
    },
    InventoryRecord: {
      is: 'One thing that a twin holds.',
      fileIdentity: 'The hash of the thing: a digital quantity or a delegate.',
      issuer: 'The address or hash of who issued it.',
      fileType: 'The hash of the digital quantity. Empty for a delegate.',
      amount: 'How much of it, in the digital quantity. Null for a delegate.',
      integrity: 'Whether the entries behind it add up.',
      timestamp: 'When it changed last, in ISO 8601 with milliseconds.',
    },
  },
}
