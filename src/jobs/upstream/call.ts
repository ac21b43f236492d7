import type { UpstreamRequest } from '../../base/ports.js'
import { viaAfter } from '../../base/via.js'
import type { Limits, ServiceContext } from '../../http/context.js'
import { addressRule, checkHeaders, type UpstreamPolicy } from './policy.js'

export interface UpstreamCall {
  /** As `checkUpstreamUrl` gave it. */
  readonly url: URL
  readonly method: UpstreamRequest['method']
  /** All that the request carries; nothing of whoever asked for the call belongs here. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Of the request that the call follows from, as `hopsIn` counts them. */
  readonly hops: number
}

/** All that is looked at of what an upstream service answers. */
export interface UpstreamAnswer {
  readonly status: number
  readonly contentType: string | null
  /** Bytes of the body, where that is known before it is read. */
  readonly declaredLength: number | null
  /**
   * Errors with an `UpstreamFailure` when it breaks off, grows too large or takes too long. Read it to its end, or cancel it:
   * the connection is held until then.
   */
  readonly body: ReadableStream<Uint8Array>
}

const sentences = {
  unreachable: 'The upstream service could not be reached.',
  timeout: 'The upstream service took too long.',
  redirect: 'The upstream service answered with a redirect, and those are not followed.',
  too_large: 'The upstream service answered with more than is taken.',
  broken_off: 'The answer of the upstream service broke off.',
}

/** Why there is no whole answer. Its message holds nothing of the request; its cause, for logs, may. */
export class UpstreamFailure extends Error {
  readonly reason: keyof typeof sentences

  constructor(reason: keyof typeof sentences, options?: ErrorOptions) {
    super(sentences[reason], options)
    this.name = 'UpstreamFailure'
    this.reason = reason
  }
}

type Caller = Pick<ServiceContext, 'upstream' | 'alarm'> &
  UpstreamPolicy & { readonly limits: Pick<Limits, 'upstreamMs' | 'upstreamBytes'> }

/**
 * Calls an upstream service once, within `limits.upstreamMs` for all of the answer and `limits.upstreamBytes` for its body, decoded.
 * Throws `upstream_refused` for headers that cannot be sent, and rejects with an `UpstreamFailure` where no answer came.
 */
export async function callUpstream(service: Caller, call: UpstreamCall): Promise<UpstreamAnswer> {
  checkHeaders(call.headers)
  const run = new Run(service)
  const coming = (async () => service.upstream.fetch(requestOf(service, call, run.signal)))()
  return run.answer(await run.first(coming))
}

/** Reads a body to its end. Rejects with the `UpstreamFailure` that the body errors with. */
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

const requestOf = (service: Caller, { url, method, headers, body, hops }: UpstreamCall, signal: AbortSignal) => ({
  url: url.href,
  method,
  headers: {
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    'accept-encoding': 'identity',
    // Whoever has this service call itself is not the local process that its sandbox takes commands from.
    via: viaAfter(hops),
  },
  body,
  signal,
  mayConnect: addressRule(service, url),
})

/** One call, from its begin until its body is read, is cancelled or fails. */
class Run {
  readonly #abort = new AbortController()
  readonly #limit: number
  readonly #callOffAlarm: () => void

  constructor({ alarm, limits }: Caller) {
    this.#limit = limits.upstreamBytes
    this.#callOffAlarm = alarm.set(limits.upstreamMs, () => this.#fail('timeout'))
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** The answer, unless the time is over before; one that comes later is let go. */
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

  /** A body that ends well only where it came whole, in time and within the limit. Reads no more than is asked of it. */
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
            this.#callOffAlarm()
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

  /** Ends all that goes on, for the first reason that there is. */
  #fail(reason: UpstreamFailure['reason'], options?: ErrorOptions): UpstreamFailure {
    this.#callOffAlarm()
    if (!this.signal.aborted) this.#abort.abort(new UpstreamFailure(reason, options))
    return this.signal.reason
  }

  #onEnd(act: (failure: UpstreamFailure) => void): void {
    this.signal.addEventListener('abort', () => act(this.signal.reason), { once: true })
  }
}

function faultOf(response: Response, length: number | null, limit: number): UpstreamFailure['reason'] | undefined {
  const { status, type, redirected } = response
  const isRedirect = status >= 300 && status < 400 && status !== 304
  // Browsers tell no more of a redirect than that it is one.
  if (isRedirect || redirected || type === 'opaqueredirect') return 'redirect'
  if (status < 200 || status > 599) return 'unreachable'
  return (length ?? 0) > limit ? 'too_large' : undefined
}

const discard = (response: Response): void => void response.body?.cancel().catch(() => {})

/** The Content-Length, where it is that of the body as it is read. */
function lengthOf({ body, headers, type }: Response): number | null {
  const length = headers.get('content-length') ?? ''
  // To a page of another origin a browser shows how long a body is, and not that it is encoded.
  if (!body || headers.has('content-encoding') || type === 'cors') return null
  return /^\d{1,15}$/.test(length) ? Number(length) : null
}

const token = "[\\w!#$%&'*+.^`|~-]+"
const parameter = `${token}(?:=(?:${token}|"[^"\\\\]*"))?`
const mediaType = new RegExp(`^${token}/${token}(?:[ \\t]*;(?:[ \\t]*${parameter})?)*[ \\t]*$`)

/** The Content-Type, where it is one media type and nothing else. */
function typeOf({ headers }: Response): string | null {
  const type = headers.get('content-type') ?? ''
  return type.length < 256 && /^[\t\x20-\x7e]*$/.test(type) && mediaType.test(type) ? type : null
}
