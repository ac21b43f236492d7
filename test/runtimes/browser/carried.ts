import type { FetchSource } from '../../../src/index.js'

/** A request and its answer on their way between a test and a page. Bodies are base64. */
export interface CarriedRequest {
  readonly url: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

export interface CarriedAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** Whole; or, of an answer that comes piece by piece, the number by which `nextPiece` gives them. */
  readonly body: string | number
}

// What a browser lets no page send or read goes in headers of its own.
const SENT = 'x-contract-sent'
const SET_COOKIE = 'x-contract-set-cookie'
/** On the answer of the pages' host to whatever is none of its files. */
export const OF_HOST = 'x-contract-host'
// A page is not shown where it is redirected to.
const STATUS = 'x-contract-status'

/** Sends a test's request from a page. */
export async function fetchFromPage({ url, method, headers, body }: CarriedRequest): Promise<CarriedAnswer> {
  const request = new Request(url, {
    method,
    headers: headers as [string, string][],
    ...(body !== '' && { body: bytesOf(body) }),
    // Its own cookies are not the test's.
    credentials: 'omit',
    cache: 'no-store',
  })
  const hidden = headers.filter(([name, value]) => !request.headers.has(name) || /[^\t\x20-\x7e]/.test(value))
  for (const [name] of hidden) request.headers.delete(name)
  if (hidden.length > 0) request.headers.set(SENT, encodeURIComponent(JSON.stringify(hidden)))
  const response = await fetch(request)
  return {
    status: Number(response.headers.get(STATUS) ?? response.status),
    headers: [...response.headers].map(([name, value]) => [name === SET_COOKIE ? 'set-cookie' : name, value]),
    body: isStreamed(response) ? open(response) : textOf(new Uint8Array(await response.arrayBuffer())),
  }
}

const isStreamed = ({ headers }: Response): boolean =>
  /^text\/(csv|event-stream)/.test(headers.get('content-type') ?? '')

const streams = new Map<number, ReadableStreamDefaultReader<Uint8Array>>()
let opened = 0

function open({ body }: Response): number {
  streams.set(++opened, (body as ReadableStream<Uint8Array>).getReader())
  return opened
}

/** The next piece of an answer, or null after the last. Throws where the answer broke off. */
export async function nextPiece(stream: number): Promise<string | null> {
  const reader = streams.get(stream) as ReadableStreamDefaultReader<Uint8Array>
  const { done, value } = await reader.read()
  if (done) streams.delete(stream)
  return done ? null : textOf(value)
}

/** Lets go of an answer that nobody reads on. */
export async function cancelStream(stream: number): Promise<void> {
  await streams.get(stream)?.cancel()
  streams.delete(stream)
}

type SentHeaders = NonNullable<FetchSource['headers']>

interface Handler {
  readonly baseUrl: string
  respond(request: Request, source: FetchSource): Promise<Response>
}

/** A service that takes what `fetchFromPage` sends: the headers that the adapter gives, and those that no page may send. */
export const carriedTo = ({ baseUrl, respond }: Handler): Handler => ({
  baseUrl,
  respond: (request, source) =>
    respond(request, {
      ...source,
      headers: withHidden(source.headers ?? request.headers),
      Response: showingCookies(source.Response ?? Response),
    }),
})

/** What a browser, or the adapter in its place, adds to a request that a test sends without it. */
const ADDED = /^(origin|referer|sec-fetch-.*)$/i

function withHidden(headers: SentHeaders): SentHeaders {
  const sent = headers.get(SENT)
  const hidden = new Map<string, string>(sent === null ? [] : JSON.parse(decodeURIComponent(sent)))
  const get = (name: string): string | null =>
    hidden.get(name.toLowerCase()) ?? (ADDED.test(name) ? null : headers.get(name))
  const keys = () =>
    new Set([...hidden.keys(), ...headers.keys()].filter((name) => name !== SENT && get(name) !== null))
  return { get, has: (name) => get(name) !== null, keys }
}

/** Answers that show a page the cookie that they set, and where they redirect to. */
function showingCookies(Base: typeof Response): typeof Response {
  return class extends Base {
    constructor(body?: BodyInit | null, init: ResponseInit = {}) {
      const headers = init.headers as Record<string, string>
      const cookie = headers['set-cookie']
      const { status = 200 } = init
      const redirects = status >= 300 && status < 400 && headers.location !== undefined
      super(body, {
        ...init,
        ...(redirects && { status: 200 }),
        headers: {
          ...headers,
          ...(cookie !== undefined && { [SET_COOKIE]: cookie }),
          ...(redirects && { [STATUS]: String(status) }),
        },
      })
    }
  }
}

export const textOf = (bytes: Uint8Array): string => {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

export const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
