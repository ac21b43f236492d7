import type { AnyCollection, Row } from '../../../storage/storage.js'

export type ShownRow = Readonly<Record<string, unknown>>

const HIDDEN = '…'

/** Whether a field could be, or be made into, a credential. */
export const isCredential = ({ sealed = {}, secrets = [] }: AnyCollection, field: string): boolean =>
  field in sealed || secrets.includes(field)

/** A row without sealed fields and credentials. */
export const withoutSecrets = (collection: AnyCollection, row: Row): ShownRow =>
  Object.fromEntries(
    Object.entries(row).map(([field, value]) => [
      field,
      isCredential(collection, field) ? hidden(field, value) : value,
    ]),
  )

/** Rows are told apart by the beginning of their ids. */
const hidden = (field: string, value: unknown): unknown =>
  value === null || value === undefined ? value : field === 'id' ? `${String(value).slice(0, 6)}${HIDDEN}` : HIDDEN
