import { type Problem, problem } from '../../base/problem.js'
import { provenDevice } from '../../base/proven-device.js'
import { digest, hexOf, sameSecret } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { isCurrent, seconds } from '../../base/time.js'
import type { CallSource, ServiceContext } from '../../http/context.js'
import { checkRate, countRate, type RateLimit, spendRate, uncountRate } from '../../jobs/rates/rate.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { sendMail } from '../mail/send-mail.js'
import { networkAt, recordUserEvent, userByEmail } from '../users/user.js'
import { findAnySession, isSignedInByPerson } from './session.js'

const CODE_MS = 10 * 60_000
const TRIES = 5
const WINDOW = 15 * 60_000

/** A mailed code. It works for one email, in the session that requested it. */
export interface SignInCodeRow {
  readonly id: number
  readonly email: string
  readonly session_digest: string
  /** A keyed digest. Six digits could be guessed from a plain one. */
  readonly code_mac: string
  readonly created_at: number
  readonly expires_at: number
  readonly tries: number
  readonly used: boolean
  /** The authentication request, if the code was entered and its user has a device. */
  readonly request_id?: number
  /** Whose limit it counts against. */
  readonly counted: string
  /** The network that asked for it, if its limit counts the code. */
  readonly network?: string
}

export const signInCodes = collection<SignInCodeRow>()(
  'sign_in_codes',
  {
    byEmail: { fields: ['email', 'created_at'] },
    bySession: { fields: ['session_digest', 'email'] },
    latestOfSession: { fields: ['session_digest'] },
    byAge: { fields: ['created_at'] },
  },
  {
    refs: { request_id: 'authentication_requests' },
    secrets: ['code_mac', 'session_digest'],
    growth: {
      by: 'anybody, for an address; at most 50 in 15 minutes from one public client address',
      most: 'limits.codes',
      withinMs: 15 * 60_000,
      per: 'email address',
      beyond: 'too_many_codes',
    },
    retention: { after: 'the code was mailed', keepMs: DAY, index: 'byAge' },
  },
)

interface AskedCode {
  readonly email: string
  readonly sessionId: string
  readonly source: CallSource
  readonly at: number
}

type CodeContext = Pick<ServiceContext, 'random' | 'keys' | 'sandbox' | 'limits'>

/** Mails a code, whether or not a user has the address. Throws `too_many_codes`, and `too_many_tries` while none can be entered. */
export async function sendSessionCode(tx: Writer, { email, sessionId, source, at }: AskedCode, context: CodeContext) {
  const to = normalEmail(email)
  const counted = await countedFor(tx, { email: to, sessionId, source, at }, context)
  // Others in the network must not stop whoever has proven the address before.
  const network = counted === to ? networkAt(source.address) : undefined
  if (fixedCode(to, context) === undefined) {
    await checkRate(tx, wrongCodes, { subject: counted, at })
    if (network) await spendRate(tx, codesOfNetwork, { subject: network, at })
    await spendRate(tx, unusedCodes(context), { subject: counted, at })
  }
  const id = await tx.nextId('sign_in_codes')
  const code = newCode(to, context)
  const expires_at = at + CODE_MS
  const fresh = { tries: 0, used: false, counted, ...(network && { network }), created_at: at, expires_at }
  tx.put(signInCodes, { id, email: to, session_digest: digest(sessionId), code_mac: mac(id, code, context), ...fresh })
  const text = `Your code is ${code}. It works once, within ten minutes.\n\nIf you did not ask for it, do nothing.`
  const mail = { subject: `${code} is your sign-in code`, text, isAwaited: true }
  await sendMail(tx, { kind: 'sign_in_code', to, owner: null, causer: network, ...mail, at })
  return { expires_at: seconds(expires_at) }
}

/** Limits the guesses at the codes of one address in a day: guessing for a year succeeds in one case of 140. */
export const wrongCodes: RateLimit = { kind: 'wrong_codes', most: 20, windowMs: DAY, code: 'too_many_tries' }
export const codesOfNetwork: RateLimit = { kind: 'network_codes', most: 50, windowMs: WINDOW, code: 'too_many_codes' }

const unusedCodes = ({ limits }: Pick<CodeContext, 'limits'>): RateLimit => ({
  kind: 'sign_in_code',
  most: limits.codes,
  windowMs: WINDOW,
  code: 'too_many_codes',
})

/** Whose limits a code counts against: an address, or a browser or session that is proven, so that others lock no user out. */
async function countedFor(tx: Reader, { email, sessionId, source, at }: AskedCode, { keys }: CodeContext) {
  const session = await findAnySession(tx, sessionId)
  const isByPerson = session !== undefined && isSignedInByPerson(session)
  if (source.device === undefined && !isByPerson) return email
  const user = await userByEmail(tx, email)
  if (!user) return email
  const device = provenDevice(source.device, { userId: user.id, at }, keys)
  if (device !== undefined) return `${email} on device ${device}`
  return isByPerson && user.id === session.user_id ? `${email} in session ${session.id}` : email
}

/**
 * Returns the last code sent to the email in this session, if it matches `code` and can still be used. Otherwise returns a
 * problem: `session_required` if no code was sent, `code_wrong`, `code_expired` or `too_many_tries`. It does not throw the
 * problem, because a wrong try must count. Throws `too_many_tries` if there were too many in a day, even for a right code.
 */
export async function checkCode(
  tx: Writer,
  { email, code, sessionId, at }: { email: string; code: string; sessionId: string; at: number },
  context: CodeContext,
): Promise<SignInCodeRow | Problem> {
  const prefix = [digest(sessionId), normalEmail(email)]
  const [last] = await tx.find(signInCodes, { index: 'bySession', prefix, limit: 1, reverse: true })
  if (!last) return problem('session_required')
  // A code that was entered in time stays valid while its user answers on a device.
  if (last.used || (!isCodeCurrent(last, at) && last.request_id === undefined)) return problem('code_expired')
  if (last.tries >= TRIES) return tooManyTries(last, at)
  const counted = { subject: last.counted, at }
  const isGuessable = fixedCode(last.email, context) === undefined
  // A code that was entered waits for its user, whatever others guess.
  if (isGuessable && last.request_id === undefined) await checkRate(tx, wrongCodes, counted)
  if (sameSecret(mac(last.id, code, context), last.code_mac)) return last
  tx.put(signInCodes, { ...last, tries: last.tries + 1 })
  if (isGuessable) await countRate(tx, wrongCodes, counted)
  await recordFailure(tx, last.email, at)
  return problem('code_wrong')
}

export const isCodeCurrent = ({ expires_at }: SignInCodeRow, at: number): boolean => isCurrent(expires_at, CODE_MS, at)

/** Spends a code with which someone signs in. It no longer counts against the limits of unused ones. */
export async function spendCode(tx: Writer, code: SignInCodeRow, context: CodeContext): Promise<void> {
  endCode(tx, code)
  const { counted, network, created_at: at } = code
  await uncountRate(tx, unusedCodes(context), { subject: counted, at })
  if (network !== undefined) await uncountRate(tx, codesOfNetwork, { subject: network, at })
}

/** Ends a code with which nobody signed in. It still counts as unused. */
export const endCode = (tx: Writer, code: SignInCodeRow): void => tx.put(signInCodes, { ...code, used: true })

/** Binds a correct code to its user's authentication request. */
export const bindCode = (tx: Writer, code: SignInCodeRow, requestId: number): void =>
  tx.put(signInCodes, { ...code, request_id: requestId })

/** Returns the code of this session that was entered and waits for its authentication request. */
export async function waitingCode(tx: Reader, sessionId: string): Promise<SignInCodeRow | undefined> {
  const last = await lastCode(tx, sessionId)
  return last && !last.used && last.request_id !== undefined ? last : undefined
}

export async function lastCode(tx: Reader, sessionId: string): Promise<SignInCodeRow | undefined> {
  const prefix = [digest(sessionId)]
  const [last] = await tx.find(signInCodes, { index: 'latestOfSession', prefix, limit: 1, reverse: true })
  return last
}

/** Records a wrong code as an event of the email's user. Limited tries also limit these events. */
async function recordFailure(tx: Writer, email: string, at: number): Promise<void> {
  const user = await userByEmail(tx, email)
  if (user)
    await recordUserEvent(tx, user.id, { type: 'sign_in_failed', actor: 'service', subject: null, data: {}, at })
}

const tooManyTries = ({ expires_at }: SignInCodeRow, at: number) =>
  problem('too_many_tries', {
    detail: 'Request a new one.',
    headers: { 'retry-after': String(Math.max(1, Math.ceil((expires_at - at) / 1000))) },
  })

const mac = (id: number, code: string, { keys }: CodeContext): string =>
  hexOf(keys.derive('sign-in code', `${id}:${code.trim()}`))

/** In a sandbox, an address such as `ada+code123456@example.test` fixes its own code. */
const fixedCode = (email: string, { sandbox }: Pick<CodeContext, 'sandbox'>): string | undefined =>
  sandbox && /\+code(\d{6})@/.exec(email)?.[1]

function newCode(email: string, { random, sandbox }: CodeContext): string {
  const fixed = fixedCode(email, { sandbox })
  if (fixed !== undefined) return fixed
  const bytes = random.bytes(6)
  const number = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
  return String(number % 1_000_000).padStart(6, '0')
}
