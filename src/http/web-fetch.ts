import type { AbortableSource } from './incoming.js'

/** What the platform's `fetch` takes. */
export type FetchInput = string | URL | Request

interface Sent {
  readonly request: Request
  /** Some runtimes hand over requests without a signal. */
  readonly signal: AbortSignal | undefined
}

type Respond = (request: Request, source: AbortableSource) => Promise<Response>

/** A `fetch` over `respond` with the platform's arguments, rejections and aborts, for URLs relative to `baseUrl` too. */
export function webFetch(
  respond: Respond,
  baseUrl: string,
): (input: FetchInput, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const { request, signal } = sentBy(input, init, `${baseUrl}/`)
    if (!signal) return respond(request, {})
    signal.throwIfAborted()
    return untilAborted(signal, respond(request, { signal }))
  }
}

const CHANGES = ['method', 'headers', 'body', 'signal'] as const

function sentBy(input: FetchInput, init: RequestInit | undefined, base: string): Sent {
  if (init && (RUNTIME_FACTS.some((name) => name in init) || typeof init.body === 'function'))
    throw new TypeError('fetch takes a request and an init. Pass what a runtime knows to respond(request, source).')
  const isRequest = typeof input === 'object' && 'method' in input
  // Many runtimes and frameworks pass their environment here, such as Hono's `mount`.
  if (isRequest && !(init && CHANGES.some((name) => init[name] !== undefined)))
    return { request: input, signal: input.signal }
  const method = init?.method ?? (isRequest ? input.method : 'GET')
  if (init?.body != null && /^(get|head)$/i.test(method)) throw new TypeError(BODY_OF_GET)
  const request = isRequest ? changed(input, init) : new Request(new URL(input, base), init)
  // The request's own signal follows this one, but may be collected before it fires.
  return { request, signal: init?.signal ?? request.signal }
}

/** A `Request` of a framework may be of another class, which `new Request` would read as a URL. */
const changed = (request: Request, init: RequestInit | undefined): Request =>
  request instanceof Request
    ? new Request(request, init)
    : new Request((request as Request).url, { ...requestParts(request), ...init })

/** Members of a source that no `init` has. */
const RUNTIME_FACTS: readonly (keyof AbortableSource)[] = ['peerAddress', 'Response', 'ending', 'url']

const BODY_OF_GET =
  'A GET request cannot have a body in fetch. Send its fields as query parameters, such as ?twin_id=1.'

const requestParts = ({ method, headers, body, signal }: Request) => ({
  method,
  headers,
  signal,
  ...(body && { body, duplex: 'half' }),
})

/** Rejects with the reason of the signal as soon as it fires. */
function untilAborted<T>(signal: AbortSignal, answered: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    answered.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
