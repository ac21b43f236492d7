import type { Reader } from '../../storage/storage.js'
import { type TwinRow, twinByHostname, twins } from './twin.js'

/** A host with or without scheme, port and path. A pattern, because runtimes parse URLs differently. */
const HOST = /^(?:https?:\/\/)?([a-z0-9._-]+)(?::\d+)?(?:[/?#].*)?$/i

/** A twin's whole address, as binders show it. */
const ADDRESS = /^41[0-9a-f]{64}$/

/** The hostname or address in the text by which someone names a twin, in lower case. Undefined if the text has another form. */
export const twinNameIn = (text: string): string | undefined => HOST.exec(text.trim())?.[1]?.toLowerCase()

/** The twin that a text names: its hostname, its whole address, or its URL. */
export async function twinNamed(tx: Reader, text: string): Promise<TwinRow | undefined> {
  const name = twinNameIn(text)
  if (name === undefined) return undefined
  if (!ADDRESS.test(name)) return twinByHostname(tx, name)
  const [twin] = await tx.find(twins, { index: 'byAddress', prefix: [name], limit: 1 })
  return twin
}
