import { collection, type Reader } from '../../storage/storage.js'

/** The import of a binder into a twin, while it runs. */
export interface BinderImportRow {
  /** The twin's id. */
  readonly id: number
  /** Token of the flow's run. Whoever takes an import over puts its own. */
  readonly token: string
  /** `checking`: nothing of the file is in the ledger. `posting`: all of the file is checked, and will be posted. */
  readonly state: 'checking' | 'posting'
  /** How many pieces of the file wait. */
  readonly pieces: number
  /** Whether the opening balances are posted. They come before the oldest row. */
  readonly is_opened: boolean
  /** The digital quantities, in the order in which the pieces number them. Empty while `checking`. */
  readonly quantities: readonly ImportedQuantity[]
}

export interface ImportedQuantity {
  readonly dq: string
  readonly decimals: number
  /** Smallest units that the twin has before the oldest row. */
  readonly opening: string
  readonly opening_at: number
  /** The id of the reservation of what the issuer will issue. */
  readonly reservation_id: number
}

export const binderImports = collection<BinderImportRow>()(
  'binder_imports',
  {},
  {
    secrets: ['token'],
    growth: { by: 'whoever controls the sandbox', bound: 'One for each twin.' },
    retention: { until: 'all of the binder is imported, or nothing' },
  },
)

/** Rows of a binder that wait to be posted. */
export interface BinderPieceRow {
  /** The twin's id, `:`, and the number. */
  readonly id: string
  readonly twin_id: number
  /** Counts 0, 1, 2 … from the newest. */
  readonly number: number
  /** JSON, which a storage may put apart from the row because it is long. */
  readonly rows: string
}

export const binderPieces = collection<BinderPieceRow>()(
  'binder_pieces',
  { byTwin: { fields: ['twin_id', 'number'] } },
  {
    refs: { twin_id: 'twins' },
    growth: { by: 'whoever controls the sandbox', bound: 'The rows of a file, which `limits.binderBytes` limits.' },
    retention: { until: 'its rows are posted, or the import is given up' },
  },
)

export const pieceId = (twinId: number, number: number): string => `${twinId}:${number}`

/** A delegate in an imported binder. Only the binder shows it: nobody can verify it here. */
export interface ImportedDelegateRow {
  readonly id: number
  readonly twin_id: number
  readonly action: 'receive' | 'send'
  readonly identity: string
  /** Address of the other twin. */
  readonly counterpart: string
  readonly at: number
}

export const importedDelegates = collection<ImportedDelegateRow>()(
  'imported_delegates',
  { byTwin: { fields: ['twin_id', 'at'] } },
  {
    refs: { twin_id: 'twins' },
    growth: { by: 'whoever controls the sandbox', bound: 'The rows of a file, which `limits.binderBytes` limits.' },
    retention: { forever: 'A binder lists it.' },
  },
)

/** Whether rows are being imported into a twin, which show all at once when the last is there. */
export const isImporting = async (tx: Reader, twinId: number): Promise<boolean> =>
  (await tx.get(binderImports, twinId)) !== undefined
