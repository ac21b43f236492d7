import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { Response as LightResponse } from '@whatwg-node/server'
import type { FetchSource } from '../../src/core.js'
import { addressOf } from './target.js'

/** The headers of a Node request. Each is looked up when it is read, and none is copied. */
export class NodeHeaders implements NonNullable<FetchSource['headers']> {
  readonly #headers: IncomingMessage['headers']

  constructor({ headers }: IncomingMessage) {
    this.#headers = headers
  }

  get(name: string): string | null {
    const value = this.#headers[name.toLowerCase()]
    return value === undefined ? null : String(value)
  }

  has(name: string): boolean {
    return this.#headers[name.toLowerCase()] !== undefined
  }

  keys(): Iterable<string> {
    return Object.keys(this.#headers)
  }
}

/**
 * A Node request as a fetch `Request`. The service reads only its method and URL. The rest is created when it is first
 * read, because it takes a third of the cost of an answer.
 */
class LazyRequest {
  readonly method: string
  readonly url: string
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  #whole: Request | undefined

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.method = methodOf(req)
    this.url = addressOf(req)
    this.#req = req
    this.#res = res
  }

  get whole(): Request {
    this.#whole ??= wholeRequest(this.#req, this.#res, this.url)
    return this.#whole
  }

  get [Symbol.toStringTag](): string {
    return 'Request'
  }
}

for (const name of Object.getOwnPropertyNames(Request.prototype)) {
  if (name in LazyRequest.prototype || name === 'method' || name === 'url') continue
  Object.defineProperty(LazyRequest.prototype, name, {
    configurable: true,
    get(this: LazyRequest) {
      const value: unknown = Reflect.get(this.whole, name)
      return typeof value === 'function' ? value.bind(this.whole) : value
    },
  })
}

/** Node's type allows no method, but every request that a server reads has one. */
const methodOf = ({ method = 'GET' }: IncomingMessage): string => method

/** Turns a Node request into a `Request`. The loop above adds the members that the class lacks. Throws `target_malformed`. */
export const requestOf = (req: IncomingMessage, res: ServerResponse): Request =>
  new LazyRequest(req, res) as unknown as Request

function wholeRequest(req: IncomingMessage, res: ServerResponse, url: string): Request {
  const method = methodOf(req)
  const gone = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) gone.abort()
  })
  const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [name, String(value)])
  const hasBody = method !== 'GET' && method !== 'HEAD'
  // Node's types declare their own web streams.
  const body = hasBody ? { body: Readable.toWeb(req) as ReadableStream, duplex: 'half' } : {}
  return new Request(url, { method, headers, signal: gone.signal, ...body })
}

/**
 * An answer as the service creates it. The server reads only its parts, so a `Response` is not made before somebody else
 * reads it as one. It sets Content-Length if its body is complete.
 */
export class NodeAnswer {
  readonly status: number
  readonly fields: Record<string, string>
  /** The body, if it is complete. */
  readonly whole: string | Uint8Array | undefined
  /** The body, if it arrives in pieces. */
  readonly stream: Readable | undefined
  readonly #body: BodyInit | null | undefined
  #light: Response | undefined

  constructor(
    body: BodyInit | null | undefined,
    { status = 200, headers }: { status?: number; headers: Record<string, string> },
  ) {
    this.status = status
    this.fields = headers
    this.whole = typeof body === 'string' || body instanceof Uint8Array ? body : undefined
    if (this.whole !== undefined) headers['content-length'] = String(Buffer.byteLength(this.whole))
    this.stream = body instanceof ReadableStream ? Readable.fromWeb(body as WebStream) : undefined // Node's type of the same class
    this.#body = body
  }

  /** A `Response` that is cheaper to create than Node's own. */
  get light(): Response {
    // The class accepts Node's streams too, but its type does not say so.
    const body = (this.stream as BodyInit | undefined) ?? this.#body
    this.#light ??= new LightResponse(body, { status: this.status, headers: this.fields })
    return this.#light
  }
}

for (const name of Object.getOwnPropertyNames(Response.prototype)) {
  if (name in NodeAnswer.prototype || name === 'status') continue
  Object.defineProperty(NodeAnswer.prototype, name, {
    configurable: true,
    get(this: NodeAnswer) {
      const value: unknown = Reflect.get(this.light, name)
      return typeof value === 'function' ? value.bind(this.light) : value
    },
  })
}
