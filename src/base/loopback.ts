const NAME = String.raw`(?:(?:[a-z0-9_-]+\.)*localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])`
const host = new RegExp(`^${NAME}$`, 'i')
const origin = new RegExp(String.raw`^https?://${NAME}(?::\d{1,5})?$`, 'i')

/** Whether a URL's host is this machine: `localhost`, a subdomain of it, 127.0.0.0/8 or `[::1]`. */
export const isLoopbackHost = (hostname: string): boolean => host.test(hostname)

/** Whether an `Origin` belongs to a page on this machine, at any port. */
export const isLoopbackOrigin = (text: string): boolean => origin.test(text)

/** Whether the peer of a connection is this machine. */
export const isLoopbackAddress = (address: string): boolean =>
  /^(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1)$/i.test(address)
