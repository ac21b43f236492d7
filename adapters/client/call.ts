import type { Signature, Signer } from './credentials.js'
import type { Grade } from './interface.js'
import { isRefusal, Refusal, readAnswer } from './refusal.js'
import { type Endpoint, type Prepared, prepare, refuseRedirect, type Sent, type Target } from './request.js'

export interface Connection {
  readonly target: Target
  readonly evidence: Grade
  readonly retries: number
  readonly controlToken: string | undefined
  readonly learned: { takesKeys: boolean }
}

/** Calls an operation, and repeats the call if that is safe and may help. Rejects with a `Refusal`. */
export async function perform(
  { target, evidence, retries, controlToken, learned }: Connection,
  signer: Signer,
  endpoint: Endpoint,
  sent: Sent,
): Promise<unknown> {
  const { signal, headers, retries: most = retries } = sent.options
  const prepareWith = (takesKeys: boolean) => prepare(endpoint, sent, { base: target.base, evidence, takesKeys })
  let prepared = prepareWith(learned.takesKeys)
  const control = controlToken !== undefined &&
    endpoint.path.startsWith('/_sandbox/') && { 'x-control-token': controlToken }
  let mayRenew = true
  for (let number = 0; ; ) {
    const { headers: signed, renew } = await unlessAborted(signatureFor(endpoint, signer), signal)
    try {
      const response = await target.fetch(prepared.url, {
        method: endpoint.method,
        // A redirect would take credentials along to wherever it leads.
        redirect: 'manual',
        headers: { ...prepared.headers, ...control, ...signed, ...headers },
        ...(prepared.body !== undefined && { body: prepared.body }),
        ...(signal && { signal }),
      })
      signer.learn?.(response.headers)
      refuseRedirect(prepared.url, response)
      const answer = await readAnswer(endpoint, response, target)
      if (endpoint.idempotent && prepared.key === undefined) learned.takesKeys = false
      return answer
    } catch (error) {
      signal?.throwIfAborted()
      if (isKeyRefused(error, prepared, sent)) {
        prepared = prepareWith(false)
        continue
      }
      if (mayRenew && renew && isStale(error)) {
        mayRenew = false
        if (await unlessAborted(renew(), signal)) continue
      }
      const hasKey = prepared.key !== undefined
      const isRepeatable = hasKey || endpoint.method === 'GET'
      const wait = waitAfter(error, { number, retries: most, isRepeatable, hasKey })
      if (wait === undefined) throw error
      number++
      await pause(wait, signal)
    }
  }
}

async function signatureFor({ reads, path }: Endpoint, signer: Signer): Promise<Signature> {
  if (reads === 'nothing' || path.startsWith('/_sandbox/')) return { headers: {} }
  if (reads === 'client') return { headers: signer.basic ? { authorization: signer.basic } : {} }
  return signer.sign()
}

/** Whether a refusal says that the token is not valid any more. Strict modes do not say which 401 it is. */
const isStale = (error: unknown): boolean => isRefusal(error, 'token_invalid', 'unknown') && error.status === 401

/** Whether a strict service refused the key that the client made, and so changed nothing. Callers rely on a key of their own. */
const isKeyRefused = (error: unknown, { key }: Prepared, { options }: Sent): boolean =>
  key !== undefined && options.idempotencyKey === undefined && isRefusal(error, 'evidence_refused')

/** No wait is longer. A refusal that asks for more is thrown at once. */
const LONGEST_MS = 10_000
const FIRST_MS = 100

/** `isRepeatable`: a second attempt changes nothing that the first one changed. It reads, or has an Idempotency-Key. */
export interface Attempt {
  /** Counts from 0. */
  readonly number: number
  readonly retries: number
  readonly isRepeatable: boolean
  readonly hasKey: boolean
}

/** The milliseconds to wait before the next attempt, after a refusal or a network error. Undefined if there is none. */
export function waitAfter(failure: unknown, attempt: Attempt): number | undefined {
  if (attempt.number >= attempt.retries) return undefined
  // Half of it is random, so that callers who failed together do not come back together.
  const backoff = FIRST_MS * 2 ** attempt.number * (0.5 + Math.random() / 2)
  if (!(failure instanceof Refusal)) return attempt.isRepeatable ? backoff : undefined
  const asked = Number(failure.headers.get('retry-after') ?? Number.NaN) * 1000
  if (!isTransient(failure, attempt, asked)) return undefined
  const wait = Number.isNaN(asked) ? backoff : asked
  return wait <= LONGEST_MS ? wait : undefined
}

function isTransient({ status, code }: Refusal, { isRepeatable, hasKey }: Attempt, asked: number): boolean {
  if (status === 429) return !Number.isNaN(asked)
  if (status === 503) return isRepeatable
  return hasKey && code === 'idempotency_in_progress'
}

/** Waits. Rejects with the reason of the signal if that fires. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    await unlessAborted(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), signal)
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for what other calls need too. Rejects with the reason of the signal if that fires first. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  signal.throwIfAborted()
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
