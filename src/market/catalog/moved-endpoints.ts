import { allRows } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import { catalogItems } from './item-row.js'

/** Moves the endpoints at or below one URL to the same place below another. Both are without a trailing slash. */
export async function moveEndpoints(
  tx: Writer,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  for await (const row of allRows(tx, catalogItems, { index: 'id', prefix: [] })) {
    const { external_endpoint: was } = row
    if (!was.startsWith(from) || !/^([/?]|$)/.test(was.slice(from.length))) continue
    const external_endpoint = to + was.slice(from.length)
    const url = new URL(external_endpoint).href
    const { called_at, idle_at } = row
    tx.put(catalogItems, {
      ...row,
      external_endpoint,
      called_at: called_at === null ? null : url,
      idle_at: idle_at === null ? null : url,
    })
  }
}
