import { recordEvent } from '../../jobs/events/event.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { TwinRow } from './twin.js'

/** What an owner calls a twin: kept apart, as existing clients map the four fields of a twin and no others (clients.md 7). */
export interface TwinNameRow {
  /** The twin's. */
  readonly id: number
  readonly name: string
}

export const twinNames = collection<TwinNameRow>()('twin_names', {})

/** One line, of nothing that people cannot see. */
export const TWIN_NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,64}$/u

/** What people are shown beside the hostname; null where its owner gave it no name. */
export const twinName = async (tx: Reader, twinId: number): Promise<string | null> =>
  (await tx.get(twinNames, twinId))?.name ?? null

/** Names a twin for the people it belongs to; its hostname and address stay. */
export async function nameTwin(
  tx: Writer,
  { id, owner, hostname }: TwinRow,
  { name, actor = owner, at }: { name: string; actor?: string; at: number },
): Promise<void> {
  tx.put(twinNames, { id, name })
  const subject = `twin:${id}`
  await recordEvent(tx, { owners: [owner], type: 'twin.renamed', actor, subject, data: { hostname, name }, at })
}
