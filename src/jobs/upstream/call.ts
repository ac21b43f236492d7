import type { UpstreamRequest } from '../../base/ports.js'
import { viaAfter } from '../../base/via.js'
import type { ServiceContext } from '../../http/context.js'
import type { Limits } from '../../http/limits.js'
import { addressRule, checkHeaders, type UpstreamPolicy } from './policy.js'

export interface UpstreamCall {
  /** As `checkUpstreamUrl` gave it. */
  readonly url: URL
  /** Without query and secret values, for logs. Default: `url` without its query, if nothing in it is secret. */
  readonly shownUrl?: string | undefined
  readonly method: UpstreamRequest['method']
  /** All headers of the request. Never pass the caller's own headers on. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The hops of the caller's request, from `hopsIn`. */
  readonly hops: number
}

/** The parts of an upstream service's answer that farthing uses. */
export interface UpstreamAnswer {
  readonly status: number
  readonly contentType: string | null
  /** The length of the body in bytes. Null if it is unknown before the body is read. */
  readonly declaredLength: number | null
  /**
   * Errors with an `UpstreamFailure` if it breaks off, is too large or takes too long. Read it to its end or cancel it:
   * the connection stays open until then.
   */
  readonly body: ReadableStream<Uint8Array>
}

const sentences = {
  unreachable: 'The upstream service could not be reached.',
  timeout: 'The upstream service took too long.',
  redirect: 'The upstream service answered with a redirect. Redirects are not followed.',
  too_large: 'The answer of the upstream service is too large.',
  broken_off: 'The answer of the upstream service broke off.',
}

/** Why there is no complete answer. Its message holds nothing from the request. Its cause, for logs, may. */
export class UpstreamFailure extends Error {
  readonly reason: keyof typeof sentences

  constructor(reason: keyof typeof sentences, options?: ErrorOptions) {
    super(sentences[reason], options)
    this.name = 'UpstreamFailure'
    this.reason = reason
  }
}

type Caller = Pick<ServiceContext, 'upstream' | 'alarm' | 'ending'> &
  UpstreamPolicy & { readonly limits: Pick<Limits, 'upstreamMs' | 'upstreamBytes'> }

/**
 * Calls an upstream service once. The whole answer may take `limits.upstreamMs`, and its decoded body
 * `limits.upstreamBytes`. Throws `upstream_refused` for headers that cannot be sent. Rejects with an `UpstreamFailure`
 * if no answer comes.
 */
export async function callUpstream(service: Caller, call: UpstreamCall): Promise<UpstreamAnswer> {
  checkHeaders(call.headers)
  const run = new Run(service)
  run.signal.throwIfAborted()
  const coming = (async () => service.upstream.fetch(requestOf(service, call, run.signal)))()
  return run.answer(await run.first(coming))
}

/** Reads a body to its end. Rejects with the `UpstreamFailure` of the body. */
export async function readWhole({ body }: UpstreamAnswer): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  const reader = body.getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) chunks.push(read.value)
  const whole = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

const requestOf = (
  service: Caller,
  { url, shownUrl = url.href, method, headers, body, hops }: UpstreamCall,
  signal: AbortSignal,
): UpstreamRequest => ({
  url: url.href,
  shownUrl: shownUrl.replace(/[?#].*$/s, ''),
  method,
  headers: {
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    'accept-encoding': 'identity',
    // A call to the service itself must not look like a local process, which may use the sandbox's controls.
    via: viaAfter(hops),
  },
  body,
  signal,
  mayConnect: addressRule(service, url),
})

/** One call, from its start until its body is read, is cancelled or fails. */
class Run {
  readonly #abort = new AbortController()
  readonly #limit: number
  readonly #cancels: (() => void)[] = []

  constructor({ alarm, ending, limits }: Caller) {
    this.#limit = limits.upstreamBytes
    this.#cancels.push(alarm.set(limits.upstreamMs, () => this.#fail('timeout')))
    // Fails at once if the service waits for calls no longer.
    this.#cancels.push(ending.onCallsEnd(() => this.#fail('timeout')))
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Resolves with the answer, or rejects when the time is over. A later answer is discarded. */
  first(coming: Promise<Response>): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#onEnd(reject)
      coming.then(
        (response) => (this.signal.aborted ? discard(response) : resolve(response)),
        (cause: unknown) => this.#fail('unreachable', { cause }),
      )
    })
  }

  answer(response: Response): UpstreamAnswer {
    const declaredLength = lengthOf(response)
    const fault = faultOf(response, declaredLength, this.#limit)
    if (fault) {
      discard(response)
      throw this.#fail(fault)
    }
    const body = this.#measured(response.body?.getReader(), declaredLength)
    return { status: response.status, contentType: typeOf(response), declaredLength, body }
  }

  /** A body that closes only if it arrived whole, in time and within the limit. Reads only on demand. */
  #measured(
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
    declaredLength: number | null,
  ): ReadableStream<Uint8Array> {
    let size = 0
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) =>
          this.#onEnd((failure) => {
            controller.error(failure)
            reader?.cancel(failure).catch(() => {})
          }),
        pull: async (controller) => {
          const read = await reader?.read().catch((cause: unknown) => void this.#fail('broken_off', { cause }))
          if (this.signal.aborted) return
          size += read?.value?.byteLength ?? 0
          if (size > this.#limit) this.#fail('too_large')
          else if (read && !read.done) controller.enqueue(read.value)
          else if (declaredLength !== null && size !== declaredLength) this.#fail('broken_off')
          else {
            this.#callOff()
            controller.close()
          }
        },
        cancel: () => {
          this.#fail('broken_off')
        },
      },
      { highWaterMark: 0 },
    )
  }

  /** Ends the call. Only the first reason counts. */
  #fail(reason: UpstreamFailure['reason'], options?: ErrorOptions): UpstreamFailure {
    this.#callOff()
    if (!this.signal.aborted) this.#abort.abort(new UpstreamFailure(reason, options))
    return this.signal.reason
  }

  /** Forgets the limit of time. */
  #callOff(): void {
    for (const cancel of this.#cancels.splice(0)) cancel()
  }

  #onEnd(act: (failure: UpstreamFailure) => void): void {
    this.signal.addEventListener('abort', () => act(this.signal.reason), { once: true })
  }
}

function faultOf(response: Response, length: number | null, limit: number): UpstreamFailure['reason'] | undefined {
  const { status, type, redirected } = response
  const isRedirect = status >= 300 && status < 400 && status !== 304
  // Browsers show only that an answer is a redirect, not its status.
  if (isRedirect || redirected || type === 'opaqueredirect') return 'redirect'
  if (status < 200 || status > 599) return 'unreachable'
  return (length ?? 0) > limit ? 'too_large' : undefined
}

const discard = (response: Response): void => void response.body?.cancel().catch(() => {})

/** The Content-Length, or null if it is not the length of the body as it is read. */
function lengthOf({ body, headers, type }: Response): number | null {
  const length = headers.get('content-length') ?? ''
  // A browser shows a page of another origin the length of a body, but not its encoding.
  if (!body || headers.has('content-encoding') || type === 'cors') return null
  return /^\d{1,15}$/.test(length) ? Number(length) : null
}

const token = "[\\w!#$%&'*+.^`|~-]+"
const parameter = `${token}(?:=(?:${token}|"[^"\\\\]*"))?`
const mediaType = new RegExp(`^${token}/${token}(?:[ \\t]*;(?:[ \\t]*${parameter})?)*[ \\t]*$`)

/** The Content-Type, or null if it is not exactly one media type. */
function typeOf({ headers }: Response): string | null {
  const type = headers.get('content-type') ?? ''
  return type.length < 256 && /^[\t\x20-\x7e]*$/.test(type) && mediaType.test(type) ? type : null
}
