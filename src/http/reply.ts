/** An answer whose status, headers or body a handler sets itself; `T` is the value that it shows as JSON. */
export class Reply<T = never> {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  /** For the JSON body; ignored where `body` is given. */
  readonly value: T | undefined
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null | undefined
  /** The session that the caller goes on with; null signs it out. */
  readonly session: string | null | undefined

  constructor(parts: {
    status?: number
    headers?: Record<string, string>
    value?: T
    body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
    session?: string | null
  }) {
    this.status = parts.status
    this.headers = parts.headers ?? {}
    this.value = parts.value
    this.body = parts.body
    this.session = parts.session
  }
}

export const reply = <T = never>(parts: ConstructorParameters<typeof Reply<T>>[0]): Reply<T> => new Reply(parts)

/** An answer without a body: 204. */
export const noContent = (): Reply => new Reply({ status: 204, body: null })

/** On to another address, with the session that the caller goes on with. */
export const seeOther = (location: string, { session }: { session?: string | null | undefined } = {}): Reply =>
  new Reply({ status: 303, headers: { location }, body: null, ...(session !== undefined && { session }) })

/** Text chunks as a streamed body. */
export function streamed(chunks: AsyncIterator<string>, type: string): Reply {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await chunks.next()
      if (next.done) controller.close()
      else controller.enqueue(encoder.encode(next.value))
    },
    async cancel() {
      await chunks.return?.()
    },
  })
  return new Reply({ body, headers: { 'content-type': type } })
}
