/**
 * Throws a TypeError if an answer leads to another address, with that address. Nothing is sent there: the call carries
 * credentials, and only the service itself may get them.
 */
export function refuseRedirect(
  url: string,
  { type, status, headers }: Pick<Response, 'type' | 'status' | 'headers'>,
): void {
  const leads = type === 'opaqueredirect' || (status >= 300 && status < 400 && headers.has('location'))
  if (!leads) return
  // Browsers do not show where it leads.
  const location = headers.get('location')
  const to = location === null ? 'another address' : new URL(location, url).href
  throw new TypeError(
    `${url} redirects to ${to}. No redirect is followed, because it would get your credentials. Use that address if you trust it.`,
  )
}
