import { PAGE_CALL } from '../../../base/page-call.js'

export class Refused extends Error {
  /** When to try again, if the service said so. */
  readonly retryAfterSeconds: number | undefined

  /** `code`: that of the service, or `unreachable` if there was no answer. */
  constructor(
    readonly code: string,
    readonly status: number,
    sentence: string,
    retryAfter: string | null = null,
  ) {
    super(sentence)
    this.retryAfterSeconds = retryAfter === null ? undefined : Number(retryAfter)
  }
}

/**
 * A value that survives a reload, in the frame's own storage. A browser that gives a frame no storage, such as Chromium
 * when it blocks third-party cookies, has partitioned cookies, which only this frame on this site sees. Otherwise the
 * value stays in memory.
 */
class StoredValue {
  #memory: string | null = null

  constructor(
    private readonly area: 'localStorage' | 'sessionStorage',
    private readonly name: string,
  ) {}

  get(): string | null {
    const storage = this.#storage()
    return storage ? storage.getItem(this.name) : (readCookie(this.name) ?? this.#memory)
  }

  set(value: string | null): void {
    const storage = this.#storage()
    if (!storage) {
      writeCookie(this.name, value)
      this.#memory = value
    } else if (value === null) storage.removeItem(this.name)
    else storage.setItem(this.name, value)
  }

  #storage(): Storage | undefined {
    try {
      return window[this.area]
    } catch {
      return undefined
    }
  }
}

const TIMEOUT_MS = 20_000

/** The service's base path. This page is at `/v4/embed/…` or `/v4/verify/embed/…` below it. */
const base = location.pathname.replace(/\/v\d\/(\w+\/)?embed\/.*/, '')
/** Names of stored values include the path, because several services may share an origin. */
const storageName = (of: string): string => `farthing.${of}${base.replaceAll('/', '.')}`
const storedSession = new StoredValue('localStorage', storageName('session'))

/** A value that this frame keeps, by a name of its own. */
export const storedValue = (area: 'localStorage' | 'sessionStorage', name: string): Pick<StoredValue, 'get' | 'set'> =>
  new StoredValue(area, storageName(name))

/** A session before sign-in. It grants nothing. */
let anonymous: string | undefined
let running: AbortController | undefined

/** Aborts the running call. It fails as `cancelled`. */
export const cancelPayment = (): void => running?.abort('cancelled')

interface CallOptions {
  readonly session?: string | null | undefined
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly timeoutMs?: number
}

async function call<T>(method: string, path: string, { session, body, headers, timeoutMs = TIMEOUT_MS }: CallOptions) {
  const controller = (running = new AbortController())
  setTimeout(() => controller.abort(), timeoutMs)
  const { signal } = controller
  const answer = await fetch(base + path, {
    method,
    headers: {
      accept: 'application/json',
      [PAGE_CALL]: 'embed',
      ...(body && { 'content-type': 'application/json' }),
      ...(session && { 'x-session-id': session }),
      ...headers,
    },
    // A cookie of the same site must not decide who pays.
    credentials: 'omit',
    cache: 'no-store',
    signal,
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => undefined)
  // The body may be incomplete, or come from a proxy.
  const read = answer?.status === 204 ? {} : await answer?.json().catch(() => undefined)
  if (signal.reason === 'cancelled') throw new Refused('cancelled', 0, 'Cancelled.')
  if (!answer || (answer.ok && read === undefined)) throw new Refused('unreachable', 0, 'No answer came.')
  if (answer.ok) return read as T // The service answers as its document says; each caller names that.
  const { code = 'internal_error', error = 'The service failed.' } = read ?? {}
  throw new Refused(code, answer.status, error, answer.headers.get('retry-after'))
}

/** Sends a request with the signed-in session of this frame. */
export const callSignedIn = <T>(method: string, path: string, sent: Omit<CallOptions, 'session'> = {}): Promise<T> =>
  call(method, path, { ...sent, session: storedSession.get() })

interface Session {
  session_id: string
  user: { email: string } | null
}

export const hasSession = (): boolean => storedSession.get() !== null

/** Returns the email that this frame is signed in with, or null. */
export async function signedInAs(): Promise<string | null> {
  if (!hasSession()) return null
  const { user } = await callSignedIn<Session>('GET', '/v4/session')
  return user?.email ?? null
}

export async function postSendCode(email: string): Promise<void> {
  anonymous ??= (await call<Session>('GET', '/v4/session', {})).session_id
  await call('POST', '/v4/session/code', { session: anonymous, body: { email } })
}

/** A sign-in that the user must approve on their device. */
type Pending = { readonly request: { readonly id: number; readonly interval: number } }

/** Signs in by a mailed code. Calls `waits` if the user's device must approve, and continues when it has. */
export async function postVerifyCode(email: string, code: string, waits: () => void): Promise<void> {
  const filled = { email, code: code.replace(/[\s-]/g, '') }
  for (let request_id: number | undefined; ; ) {
    const body = { ...filled, ...(request_id !== undefined && { request_id }) }
    const answer = await call<Session | Pending>('POST', '/v4/session/verify', { session: anonymous, body })
    if ('session_id' in answer) {
      anonymous = undefined
      return storedSession.set(answer.session_id)
    }
    request_id = answer.request.id
    waits()
    await pause(answer.request.interval * 1000)
  }
}

async function pause(ms: number): Promise<void> {
  const before = running
  await new Promise((resolve) => setTimeout(resolve, ms))
  if (before?.signal.reason === 'cancelled') throw new Refused('cancelled', 0, 'Cancelled.')
}

export async function signOut(): Promise<void> {
  const session = storedSession.get()
  storedSession.set(null)
  if (session !== null) await call('DELETE', '/v4/session', { session })
}

export const forgetSession = (): void => storedSession.set(null)

interface Twin {
  readonly id: number
  readonly hostname: string
  readonly balances: Record<string, number>
}

/** Yields every twin of the user, the first one last. */
export async function* ownTwins(): AsyncGenerator<Twin> {
  for (let after: number | null | undefined; after !== null; ) {
    const page = await callSignedIn<{ twins: Twin[]; next: number | null }>(
      'GET',
      `/v4/twins?limit=100${after === undefined ? '' : `&after=${after}`}`,
    )
    yield* page.twins
    after = page.next
  }
}

/** A price as its payer saw it. */
export interface SeenQuote {
  readonly cost: number
  readonly dq: string
}

/** Set when the page is left: its calls fail then, and nobody hears its messages. */
let isPageLeft = false
for (const [name, isLeft] of [
  ['pagehide', true],
  ['pageshow', false],
] as const)
  addEventListener(name, () => {
    isPageLeft = isLeft
  })

/**
 * Does something once, however often it is tried. Until it succeeds or is refused, every try sends the same
 * Idempotency-Key and the quote of the first try, even after a reload.
 */
export async function sendOnce<T>(
  name: string,
  quote: SeenQuote,
  act: (headers: Record<string, string>, quote: SeenQuote) => Promise<T>,
): Promise<T> {
  const attempt = new StoredValue('sessionStorage', storageName(`attempt.${name}`))
  const written = attempt.get() ?? [newKey(), quote.cost, quote.dq].join(':')
  attempt.set(written)
  const [key = '', cost, dq = quote.dq] = written.split(':')
  try {
    const done = await act({ 'idempotency-key': key }, { cost: Number(cost ?? quote.cost), dq })
    if (!isPageLeft) attempt.set(null)
    return done
  } catch (refused) {
    if (refused instanceof Refused && isFinal(refused)) attempt.set(null)
    throw refused
  }
}

/** Returns a random key. `crypto.randomUUID` is missing on plain http outside of localhost. */
const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Whether an answer is final. The service stores a refusal under its key like a success. */
const isFinal = ({ status, code }: Refused): boolean =>
  status >= 400 && status < 500 && ![401, 408, 429].includes(status) && code !== 'idempotency_in_progress'

function readCookie(name: string): string | undefined {
  try {
    const pair = document.cookie.split('; ').find((each) => each.startsWith(`${name}=`))
    return pair?.slice(name.length + 1)
  } catch {
    // A sandboxed frame has no cookies either.
    return undefined
  }
}

/** Sets a cookie for a day, as long as a session lives. The service does not read it. */
function writeCookie(name: string, value: string | null): void {
  const age = value === null ? 0 : 86_400
  try {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not everywhere
    document.cookie = `${name}=${value ?? ''}; Path=/; Max-Age=${age}; SameSite=None; Secure; Partitioned`
  } catch {
    // The value stays in memory.
  }
}
