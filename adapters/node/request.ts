import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
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
