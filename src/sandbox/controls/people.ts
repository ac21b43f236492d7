import { Problem, problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { type ApprovalRow, approvals, decideApproval, showToUser } from '../../consent/approvals/approval.js'
import { addDevice, hasDevice, planRegistration } from '../../consent/devices/device.js'
import { answerPending, type SecondFactorAnswer } from '../../consent/second-factor/answer.js'
import { type PhoneMode, phones } from '../../consent/second-factor/phone.js'
import { pendingOf, type ShownRequest, showRequest } from '../../consent/second-factor/request.js'
import type { ServiceContext } from '../../http/context.js'
import { newSessionId, signIn } from '../../identity/sessions/session.js'
import { type ShownUser, users } from '../../identity/users/user.js'
import { getOrNotFound } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { wrongField } from './shapes.js'

const MOST_SECONDS = 24 * 3600

/** How a user's phone answers future pushes. */
export interface PhoneSettings {
  user_id: number
  mode: PhoneMode
  after_seconds: number
}

/** The phone of a user, with the requests that wait for it. */
export interface ShownPhone extends PhoneSettings {
  has_device: boolean
  requests: ShownRequest[]
}

/** The requests that a phone answered. */
export type PhoneAnswers = Pick<ShownPhone, 'requests'>

export async function setPhone(
  tx: Writer,
  { userId, mode, afterSeconds = 0 }: { userId: number; mode: PhoneMode; afterSeconds?: number | undefined },
  { keys, random, clock }: ServiceContext,
): Promise<PhoneSettings> {
  await checkUser(tx, userId)
  if (!(afterSeconds >= 0 && afterSeconds <= MOST_SECONDS))
    throw wrongField('after_seconds', `must be from 0 to ${MOST_SECONDS}.`)
  if (!(await hasDevice(tx, userId))) {
    const token = `sandbox-${randomHex(random, 16)}`
    const order = { userId, platform: 'web', token, name: 'Sandbox phone', at: clock.now() } as const
    await addDevice(tx, await planRegistration(tx, order, { keys }), { at: clock.now(), isMailed: false })
  }
  tx.put(phones, { id: userId, mode, after_ms: Math.round(afterSeconds * 1000) })
  return { user_id: userId, mode, after_seconds: afterSeconds }
}

export async function readPhone(tx: Reader, userId: number, { clock }: ServiceContext): Promise<ShownPhone> {
  await checkUser(tx, userId)
  const at = clock.now()
  const { mode, after_ms } = (await tx.get(phones, userId)) ?? { mode: 'manual' as const, after_ms: 0 }
  return {
    user_id: userId,
    has_device: await hasDevice(tx, userId),
    mode,
    after_seconds: after_ms / 1000,
    requests: (await pendingOf(tx, userId, at)).map((request) => showRequest(request, at)),
  }
}

export async function answerOnPhone(
  tx: Writer,
  { userId, id, answer }: { userId: number; id?: number | undefined; answer: SecondFactorAnswer },
  { clock }: ServiceContext,
): Promise<PhoneAnswers> {
  await checkUser(tx, userId)
  const at = clock.now()
  const pending = await pendingOf(tx, userId, at)
  const answered = []
  for (const request of id === undefined ? pending : pending.filter((each) => each.id === id)) {
    const settled = await answerPending(tx, request, { answer, by: 'phone', at })
    if (settled instanceof Problem) throw settled
    answered.push(showRequest(settled, at))
  }
  return { requests: answered }
}

async function checkUser(tx: Reader, id: number): Promise<void> {
  if (!(await tx.get(users, id))) throw problem('not_found')
}

export async function answerApproval(
  tx: Writer,
  { id, decision }: { id: string; decision: 'approved' | 'rejected' },
  service: ServiceContext,
) {
  const row = await getOrNotFound(tx, approvals, id)
  const decided: ApprovalRow | Problem = await decideApproval(tx, row, { decision, at: service.clock.now() })
  if (decided instanceof Problem) throw decided
  return showToUser(decided, service)
}

export interface SignedInUser {
  session_id: string
  user: Omit<ShownUser, 'secrets'>
  /** They identify the session. Send them with each call. */
  headers: { 'x-session-id': string }
}

export async function signInAsUser(tx: Writer, { email }: { email: string }, service: ServiceContext) {
  const order = { email: normalEmail(email), previousSessionId: newSessionId(service), at: service.clock.now() }
  const signedIn = await signIn(tx, order, service)
  return { ...signedIn, headers: { 'x-session-id': signedIn.session_id } }
}
