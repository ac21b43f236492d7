/** The `fetch` of the platform, of a service in process, of MSW or of a worker. */
export type Fetch = (input: string, init: RequestInit) => Promise<Response>

/** A service in process, as `createService` returns it. */
export interface InProcess {
  readonly baseUrl: string
  fetch(input: string, init?: RequestInit): Promise<Response>
}

/** Where requests go. */
export interface Target {
  /** Without a slash at its end. */
  readonly base: string
  readonly fetch: Fetch
}

/** Reads what a user calls the target. Throws a TypeError that says what is wrong. */
export function targetOf(target: InProcess | string | URL, fetchOption: Fetch | undefined): Target {
  if (typeof target === 'string' || target instanceof URL)
    // Looked up at each call, because tests replace the global function.
    return { base: addressOf(target), fetch: fetchOption ?? ((input, init) => fetch(input, init)) }
  const { baseUrl } = (target ?? {}) as Partial<InProcess> // JavaScript may pass anything.
  if (typeof baseUrl !== 'string' || typeof target.fetch !== 'function')
    throw new TypeError(
      "client needs a service or its URL: client(createService({ sandbox: true })), or client('http://127.0.0.1:4242'). If it is a promise, await it.",
    )
  return { base: addressOf(baseUrl), fetch: fetchOption ?? ((input, init) => target.fetch(input, init)) }
}

function addressOf(url: string | URL): string {
  const page = typeof location === 'undefined' ? undefined : location.href
  const { protocol, origin, pathname } = parsedUrl(url, page)
  if (protocol !== 'http:' && protocol !== 'https:') throw notAnAddress(url)
  return origin + pathname.replace(/\/+$/, '')
}

function parsedUrl(url: string | URL, page: string | undefined): URL {
  try {
    return new URL(url, page)
  } catch {
    throw notAnAddress(url)
  }
}

const notAnAddress = (url: string | URL): TypeError =>
  new TypeError(`The URL of a service begins with http:// or https://, unlike "${url}".`)

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
