import type { FetchSource } from '../../src/core.js'

/** The headers of a request, with the Cookie and Origin that the browser hides from a worker. */
export function headersOf(request: Request, cookie: string | undefined): NonNullable<FetchSource['headers']> {
  const hidden: Partial<Record<string, string>> = { cookie, origin: originOf(request) }
  const get = (name: string) => hidden[name.toLowerCase()] ?? request.headers.get(name)
  return { get, has: (name) => get(name) !== null, keys: () => request.headers.keys() }
}

/** The Origin that the browser would send (Fetch, section 3.2). */
function originOf({ method, mode, referrer, url }: Request): string | undefined {
  const isForeign = new URL(url).origin !== location.origin
  if (!isForeign && (method === 'GET' || method === 'HEAD')) return undefined
  // Calls come only from pages of the worker's own origin, but a page of any origin can submit a form to the service.
  if (mode !== 'navigate') return location.origin
  return URL.canParse(referrer) && /^https?:/.test(referrer) ? new URL(referrer).origin : 'null'
}
