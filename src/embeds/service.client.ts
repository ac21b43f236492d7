import { Kept } from './kept.client.js'

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

/** What the service is reached under: this page is `/v4/embed/…` there. */
const base = location.pathname.replace(/\/v\d\/embed\/.*/, '')
/** Services side by side on one origin keep apart what is theirs. */
const keptName = (of: string): string => `farthing.${of}${base.replaceAll('/', '.')}`

/** The signed-in session of this frame. */
const kept = new Kept('localStorage', keptName('session'))
/** Before signing in; it is worth nothing by itself. */
let anonymous: string | undefined

let running: AbortController | undefined

/** Gives up on the call that runs; it is refused as `cancelled`. */
export const cancel = (): void => running?.abort('cancelled')

interface Sent {
  readonly session?: string | null | undefined
  readonly body?: object
  readonly headers?: Record<string, string>
}

async function call<T>(method: string, path: string, { session, body, headers }: Sent = {}): Promise<T> {
  const { signal } = (running = patient())
  const answer = await fetch(`${base}/v4${path}`, {
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
  if (answer.ok) return read as T
  const { code = 'internal_error', error = 'The service failed.' } = read ?? {}
  throw new Refused(code, answer.status, error, answer.headers.get('retry-after'))
}

function patient(): AbortController {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), PATIENCE_MS)
  return controller
}

interface Session {
  session_id: string
  user: { email: string } | null
}

/** The email that this frame is signed in with, or null. */
export async function signedInAs(): Promise<string | null> {
  const session = kept.get()
  if (session === null) return null
  const { user } = await call<Session>('GET', '/session', { session })
  return user?.email ?? null
}

export async function sendCode(email: string): Promise<void> {
  anonymous ??= (await call<Session>('GET', '/session')).session_id
  await call('POST', '/session/code', { session: anonymous, body: { email } })
}

export async function verifyCode(email: string, code: string): Promise<void> {
  const body = { email, code: code.replace(/[\s-]/g, '') }
  const { session_id } = await call<Session>('POST', '/session/verify', { session: anonymous, body })
  anonymous = undefined
  kept.set(session_id)
}

export async function signOut(): Promise<void> {
  const session = kept.get()
  kept.set(null)
  if (session !== null) await call('DELETE', '/session', { session })
}

export const forgetSession = (): void => kept.set(null)

interface Twins {
  twins: { id: number; hostname: string; balances: Record<string, number> }[]
  next: number | null
}

/** The twin that pays: the payer's first, which is the last of the list. */
export async function payingTwin(dq: string): Promise<{ hostname: string; balance: number }> {
  for (let after = ''; ; ) {
    const { twins, next } = await call<Twins>('GET', `/twins?limit=100${after}`, { session: kept.get() })
    const first = twins.at(-1)
    if (next === null) return { hostname: first?.hostname ?? '', balance: first?.balances[dq] ?? 0 }
    after = `&after=${next}`
  }
}

export interface Paid {
  hostname: string
  nonce: string
  timestamp: number
}

/**
 * Pays, once however often it is tried: until the service has answered, every try carries the same key,
 * also after this page was loaded again.
 */
export async function pay(hash: string): Promise<Paid> {
  const attempt = new Kept('sessionStorage', keptName(`attempt.${hash}`))
  const key = attempt.get() ?? crypto.randomUUID()
  attempt.set(key)
  try {
    const headers = { 'idempotency-key': key }
    const paid = await call<Paid>('POST', `/payment/${encodeURIComponent(hash)}`, { session: kept.get(), headers })
    attempt.set(null)
    return paid
  } catch (refused) {
    if (refused instanceof Refused && isAnswer(refused)) attempt.set(null)
    throw refused
  }
}

/** A refusal is kept under its key like a success; what is not kept may be tried with the same key again. */
const isAnswer = ({ status }: Refused): boolean =>
  status >= 400 && status < 500 && ![401, 408, 409, 429].includes(status)
