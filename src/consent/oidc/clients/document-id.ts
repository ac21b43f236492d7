const LONGEST = 1024

/**
 * Whether a client id is the address of the client's metadata (OAuth Client ID Metadata Document, section 3): an https
 * URL with a path, and without user, fragment or dot segments, spelled as a browser would.
 */
export function isDocumentId(clientId: string): boolean {
  if (!clientId.startsWith('https://') || clientId.length > LONGEST || !URL.canParse(clientId)) return false
  const { href, username, password, pathname } = new URL(clientId)
  return href === clientId && username === '' && password === '' && pathname !== '/' && !clientId.includes('#')
}
