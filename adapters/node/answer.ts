import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { Response as LightResponse } from '@whatwg-node/server'

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
