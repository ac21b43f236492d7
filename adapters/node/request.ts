import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FetchSource } from '../../src/core.js'
import { addressOf } from './target.js'

/** A request's headers as they are looked up, one by one. */
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
 * A request of Node's, as fetch has it. The service looks at its method and its address alone: all else is made when it is
 * first asked for, which costs a third of what answering costs.
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

/** Node knows the method of every request that it reads. */
const methodOf = ({ method = 'GET' }: IncomingMessage): string => method

/** Throws `target_malformed`. What the class lacks of a Request, the loop above adds to it. */
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
  // Node's types have streams of their own beside those of the web.
  const body = hasBody ? { body: Readable.toWeb(req) as ReadableStream, duplex: 'half' } : {}
  return new Request(url, { method, headers, signal: gone.signal, ...body })
}
