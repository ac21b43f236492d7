import type { FetchSource, RequestHeaders } from './incoming.js'

const V4 = String.raw`\d{1,3}(?:\.\d{1,3}){3}`
/** An address, with a port or without. */
const ADDRESS = new RegExp(String.raw`^(?:(${V4})(?::\d+)?|\[?([\da-f]*:[\da-f:]*(?:${V4})?)(?:\]:\d+|\])?)$`, 'i')

/**
 * The address that a network request comes from. A trusted proxy adds the address of its own client to the end of
 * `X-Forwarded-For`; what stands before that is what the client says. Undefined: unknown, or not from a network.
 */
export function clientAddress(
  { peerAddress }: FetchSource,
  headers: Pick<RequestHeaders, 'get'>,
  { trustsProxy }: { readonly trustsProxy: boolean },
): string | undefined {
  if (!peerAddress) return undefined
  const added = trustsProxy ? headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined
  const address = added === undefined ? undefined : plainAddress(added)
  if (address !== undefined) return address
  if (peerAddress !== lastPeer.text) lastPeer = { text: peerAddress, address: plainAddress(peerAddress) }
  return lastPeer.address
}

/** Most requests come on a connection that has brought others. */
let lastPeer: { readonly text: string; readonly address: string | undefined } = { text: '', address: undefined }

/** An IPv6 address with an IPv4 part, in brackets, and a port. */
const LONGEST_ADDRESS = 53

/** Without its port, and an IPv4 address as itself. */
function plainAddress(text: string): string | undefined {
  const [, v4, v6] = text.length > LONGEST_ADDRESS ? [] : (ADDRESS.exec(text) ?? [])
  return v4 ?? v6?.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
}
