import { Kept } from './stored-value.client.js'

/** Why a call did not do what it was for. */
export class Refused extends Error {
  /** The service's own word, or `unreachable` where no answer came. */
  readonly code: string
  readonly status: number
  /** When to try again, where that was told. */
  readonly retryAfterSeconds: number | undefined

  constructor(code: string, status: number, sentence: string, retryAfter: string | null = null) {
    super(sentence)
    this.code = code
    this.status = status
    this.retryAfterSeconds = retryAfter === null ? undefined : Number(retryAfter)
  }
}

/** How long an answer may take. */
const PATIENCE_MS = 20_000

/** What the service is reached under: this page is `/v4/embed/…` there, or `/v4/verify/embed/…`. */
const base = location.pathname.replace(/\/v\d\/(\w+\/)?embed\/.*/, '')
/** Services side by side on one origin keep apart what is theirs. */
const keptName = (of: string): string => `farthing.${of}${base.replaceAll('/', '.')}`

/** The signed-in session of this frame. */
const kept = new Kept('localStorage', keptName('session'))
/** Before signing in; it is worth nothing by itself. */
let anonymous: string | undefined

let running: AbortController | undefined

/** Gives up on the call that runs; it is refused as `cancelled`. */
export const cancelPayment = (): void => running?.abort('cancelled')

interface Sent {
  readonly session?: string | null | undefined
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly patienceMs?: number
}

async function call<T>(method: string, path: string, { session, body, headers, patienceMs }: Sent): Promise<T> {
  const { signal } = (running = patient(patienceMs))
  const answer = await fetch(base + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...(session && { 'x-session-id': session }),
      ...headers,
    },
    // A cookie of the same site must not say who is paying here.
    credentials: 'omit',
    cache: 'no-store',
    signal,
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => undefined)
  // The body may be cut short, or be that of something between here and the service.
  const read = answer?.status === 204 ? {} : await answer?.json().catch(() => undefined)
  if (signal.reason === 'cancelled') throw new Refused('cancelled', 0, 'Cancelled.')
  if (!answer || (answer.ok && read === undefined)) throw new Refused('unreachable', 0, 'No answer came.')
  if (answer.ok) return read as T // The service answers as its document says; each caller names that.
  const { code = 'internal_error', error = 'The service failed.' } = read ?? {}
  throw new Refused(code, answer.status, error, answer.headers.get('retry-after'))
}

/** A call by the signed-in session of this frame. */
export const callSignedIn = <T>(method: string, path: string, sent: Omit<Sent, 'session'> = {}): Promise<T> =>
  call(method, path, { ...sent, session: kept.get() })

function patient(ms = PATIENCE_MS): AbortController {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), ms)
  return controller
}

interface Session {
  session_id: string
  user: { email: string } | null
}

/** The email that this frame is signed in with, or null. */
export async function signedInAs(): Promise<string | null> {
  if (kept.get() === null) return null
  const { user } = await callSignedIn<Session>('GET', '/v4/session')
  return user?.email ?? null
}

export async function postSendCode(email: string): Promise<void> {
  anonymous ??= (await call<Session>('GET', '/v4/session', {})).session_id
  await call('POST', '/v4/session/code', { session: anonymous, body: { email } })
}

/** A sign-in that its user has yet to approve on their device. */
interface Waiting {
  readonly request: { readonly id: number; readonly interval: number }
}

/** Signs in by a mailed code. Where the user's device is asked too, it says so by `waits`, and goes on once that has answered. */
export async function postVerifyCode(email: string, code: string, waits: () => void): Promise<void> {
  const filled = { email, code: code.replace(/[\s-]/g, '') }
  for (let request_id: number | undefined; ; ) {
    const body = { ...filled, ...(request_id !== undefined && { request_id }) }
    const answer = await call<Session | Waiting>('POST', '/v4/session/verify', { session: anonymous, body })
    if ('session_id' in answer) {
      anonymous = undefined
      return kept.set(answer.session_id)
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
  const session = kept.get()
  kept.set(null)
  if (session !== null) await call('DELETE', '/v4/session', { session })
}

export const forgetSession = (): void => kept.set(null)

interface Twin {
  readonly id: number
  readonly hostname: string
  readonly balances: Record<string, number>
}

/** Every twin of whoever is signed in, the first one last. */
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

/** A page that is left sees its calls fail, whatever became of them, and what it still tells is heard by nobody. */
let left = false
addEventListener('pagehide', () => {
  left = true
})
addEventListener('pageshow', () => {
  left = false
})

/**
 * Does something once however often it is tried: until the service has answered and all is done, every try carries
 * the same Idempotency-Key and the quote of the first one, also after this page was loaded again.
 */
export async function sendOnce<T>(
  name: string,
  quote: SeenQuote,
  act: (headers: Record<string, string>, quote: SeenQuote) => Promise<T>,
): Promise<T> {
  const attempt = new Kept('sessionStorage', keptName(`attempt.${name}`))
  const written = attempt.get() ?? [newKey(), quote.cost, quote.dq].join(':')
  attempt.set(written)
  const [key = '', cost, dq = quote.dq] = written.split(':')
  try {
    const done = await act({ 'idempotency-key': key }, { cost: Number(cost ?? quote.cost), dq })
    if (!left) attempt.set(null)
    return done
  } catch (refused) {
    if (refused instanceof Refused && isAnswer(refused)) attempt.set(null)
    throw refused
  }
}

/** Random. `crypto.randomUUID` is missing where the service is reached over plain http by another name than localhost. */
const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** A refusal is kept under its key like a success; what is not kept may be tried with the same key again. */
const isAnswer = ({ status, code }: Refused): boolean =>
  status >= 400 && status < 500 && ![401, 408, 429].includes(status) && code !== 'idempotency_in_progress'
