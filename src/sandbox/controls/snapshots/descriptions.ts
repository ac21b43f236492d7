import type { TextsOf } from '../../../http/openapi/texts.js'
import type { snapshotRoutes } from './routes.js'

export const snapshotTexts: TextsOf<typeof snapshotRoutes> = {
  operations: {
    saveNamedState: 'The process keeps at most 100, until it ends. A retry gets `already_exists`.',
    listNamedStates: 'It changes nothing.',
    exportNamedState: 'Any sandbox can restore it. It contains the key of the sandbox.',
    removeNamedState: 'The state stays as it is. A retry gets `not_found`.',
    compareNamedStates: 'It changes nothing. Secrets are left out.',
    rewindSandbox:
      'What was stored since then is lost, and numbers that were used stay used. A retry returns to the same state.',
  },
  fields: {
    name: 'The name of the snapshot.',
    a: 'The name of the first snapshot.',
    b: 'The name of the second snapshot.',
    note: 'What it is for.',
    snapshots: 'The snapshots.',
    counters: 'The last id of each collection.',
    schema: 'The number of the schema of all rows.',
    rows: 'The rows, by collection.',
    'rows.added': 'Rows that only the second has.',
    'rows.removed': 'Rows that only the first has.',
    'rows.changed': 'Rows that both have, with both versions.',
    'rows.more': 'How many more rows differ than are shown.',
    was: 'In the first.',
    is: 'In the second.',
    balances: 'The balances that differ.',
    dq: 'The hash of the digital quantity.',
    to: 'The name of a snapshot, or the `X-Request-ID` of an answer.',
  },
  components: {
    NamedSnapshot: {
      is: 'A named snapshot of a sandbox.',
      at: "When it was saved, by the service's clock, in ISO 8601.",
      rows: 'How many rows it has.',
    },
  },
}
