import type { OwnBytes } from '../base/ports.js'
import type { Problem, ProblemCode } from '../base/problem.js'

/** An answer whose status, headers or body a handler sets. `T` is the type of its JSON value. */
export class Reply<T = never> {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>> = {}
  /** The JSON body. Ignored if `body` is given. */
  readonly value: T | undefined
  readonly body: string | OwnBytes | ReadableStream<Uint8Array> | null | undefined
  /** The caller's new session id. Null signs the caller out. */
  readonly session: string | null | undefined
  /** Writes the JSON of a value that is too long for one string. `show` leaves out what the caller may not see. */
  readonly text: ((show: (part: unknown) => unknown) => AsyncIterator<string>) | undefined

  constructor(parts: Partial<Reply<T>>) {
    Object.assign(this, parts)
  }
}

export const reply = <T = never>(parts: ConstructorParameters<typeof Reply<T>>[0]): Reply<T> => new Reply(parts)

/** An answer with status 204 and no body. */
export const noContent = (): Reply => new Reply({ status: 204, body: null })

/** A redirect with status 303, optionally with a new session. */
export const seeOther = (location: string, { session }: { session?: string | null | undefined } = {}): Reply =>
  new Reply({ status: 303, headers: { location }, body: null, ...(session !== undefined && { session }) })

interface RelayedAnswer {
  readonly status: number
  /** Null: unknown. */
  readonly contentType: string | null
  readonly body: Reply['body']
  readonly headers: Readonly<Record<string, string>>
}

/** The answer of an upstream service with its status and type, and headers of our own. */
export function relayed({ status, contentType, body = null, headers }: RelayedAnswer): Reply {
  const type = { 'content-type': contentType ?? 'application/octet-stream' }
  return new Reply({ status, headers: { ...headers, ...sandboxed, ...type }, body: hasNoBody(status) ? null : body })
}

/** An upstream answer is not a page of the service: in a browser it gets no origin and runs no script. */
const sandboxed = { 'content-security-policy': "sandbox; default-src 'none'" }
const hasNoBody = (status: number): boolean => [204, 205, 304].includes(status)

/** An answer that streams chunks of text. */
export const streamed = (chunks: AsyncIterator<string> | Iterator<string>, type: string): Reply =>
  new Reply({ body: textStream(chunks), headers: { 'content-type': type } })

/** A body that asks for the next chunk when the caller has taken the one before. */
export function textStream(chunks: AsyncIterator<string> | Iterator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await chunks.next()
      if (next.done) controller.close()
      else controller.enqueue(encoder.encode(next.value))
    },
    async cancel() {
      await chunks.return?.()
    },
  })
}

/** Renders refusals of the service at a base URL. */
export interface RefusingService {
  readonly baseUrl: string
  /** The fields of a refusal that the caller's evidence mode shows. */
  shown(refused: Problem): object
}

export interface Refusal {
  (refused: Problem, headers: Pick<Headers, 'get'>, service: RefusingService): Reply<object>
  /** Whether browsers get a page. */
  readonly isPage?: boolean
  /** The error code of OAuth for a problem, if JSON answers have the form of OAuth (RFC 6749 section 5.2). */
  readonly oauthCode?: (code: ProblemCode) => string
}
