import { recordEvent } from '../../jobs/events/event.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { TwinRow } from './twin.js'

/**
 * The owner's name for a twin. It has its own collection because existing clients expect exactly four fields of a
 * twin.
 */
export interface TwinNameRow {
  /** The twin's id. */
  readonly id: number
  readonly name: string
}

export const twinNames = collection<TwinNameRow>()(
  'twin_names',
  {},
  { growth: { by: 'the owner of a twin', bound: 'One for each twin.' }, retention: { forever: 'One for each twin.' } },
)

/** One line without control or invisible characters. */
export const TWIN_NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,64}$/u

/** The name that people see next to the hostname. Null if the owner gave none. */
export const twinName = async (tx: Reader, twinId: number): Promise<string | null> =>
  (await tx.get(twinNames, twinId))?.name ?? null

/** Sets the name of a twin. Its hostname and address stay the same. */
export async function nameTwin(
  tx: Writer,
  { id, owner, hostname }: TwinRow,
  { name, actor = owner, at }: { name: string; actor?: string; at: number },
): Promise<void> {
  tx.put(twinNames, { id, name })
  const subject = `twin:${id}`
  await recordEvent(tx, { owners: [owner], type: 'twin.renamed', actor, subject, data: { hostname, name }, at })
}
