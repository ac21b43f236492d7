import { parsedUrl } from '../../../base/text/foreign-url.js'

const LONGEST_DOCUMENT_ID = 1024

/**
 * Whether a client id is the address of the client's metadata (OAuth Client ID Metadata Document, section 3): an https
 * URL with a path, and without user, fragment or dot segments, spelled as a browser would.
 */
export function isDocumentId(clientId: string): boolean {
  const url =
    clientId.startsWith('https://') && clientId.length <= LONGEST_DOCUMENT_ID ? parsedUrl(clientId) : undefined
  if (!url) return false
  const { href, username, password, pathname } = url
  return href === clientId && username === '' && password === '' && pathname !== '/' && !clientId.includes('#')
}
