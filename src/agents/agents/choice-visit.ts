import { Problem, problem } from '../../base/problem.js'
import { hasDevice } from '../../consent/devices/device.js'
import { clientById, nameOf } from '../../consent/oidc/clients/client.js'
import { oidcConnections } from '../../consent/oidc/connection.js'
import { lastAsked } from '../../consent/second-factor/asked.js'
import { requireSecondFactor, spendSecondFactor } from '../../consent/second-factor/request.js'
import {
  answerSignIn,
  isSignInAnswer,
  type SignedInSince,
  type SignInStep,
  signedInSince,
  signInAnswers,
  signInStep,
} from '../../consent/sign-in/page-sign-in.js'
import type { ServiceContext } from '../../http/context.js'
import { findSession } from '../../identity/sessions/session.js'
import { emailOf } from '../../identity/users/user.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type AccountChoiceRow, choiceByToken, choosableAccounts, choose, type NamedAccount } from './account-choice.js'

/** What whoever opened the link is shown. */
export type ShownChoice = { readonly app: string; readonly refused?: Problem | undefined } & (
  | SignInStep
  | SignedInSince
  /** To another user than the one who connected the app. */
  | { readonly step: 'another'; readonly email: string }
  | { readonly step: 'wait' | 'ask_again' }
  | {
      readonly step: 'choose'
      readonly email: string
      readonly accounts: readonly NamedAccount[]
      /** Granted now. */
      readonly accountId: number | null
    }
  /** `account`: null is none. */
  | { readonly step: 'done'; readonly account: string | null }
)

export interface ChoiceVisit {
  /** Of the link. */
  readonly token: string
  readonly sessionId: string
  /** Where the page's own links lead. */
  readonly step?: string | undefined
  /** That was filled in, and not taken. */
  readonly email?: string | undefined
}

/** Where a visitor stands. Throws `not_found`, `link_expired`, `too_many_pending`. */
export async function visitChoice(tx: Writer, at: ChoiceVisit, service: ServiceContext): Promise<ShownChoice> {
  const now = service.clock.now()
  const row = await choiceByToken(tx, at.token, now)
  const app = await appOf(tx, row)
  const since = await signedInSince(tx, at, service)
  if (since && !(since instanceof Problem)) return { app, ...since }
  const session = await findSession(tx, at.sessionId, now)
  const signIn = await signInStep(tx, at, now)
  if (since) return { app, ...signIn, refused: since }
  if (!session || signIn.step !== 'email' || at.step === 'email') return { app, ...signIn }
  const email = (await emailOf(tx, `user:${session.user_id}`)) ?? ''
  if (session.user_id !== row.user_id) return { app, step: 'another', email }
  if (row.chosen_at !== null) return done(tx, row, app)
  const passed = await secondFactor(tx, { row, app, sessionId: at.sessionId }, service)
  if (passed !== 'passed') return { app, step: passed }
  const connection = await tx.get(oidcConnections, row.connection_id)
  const accounts = await choosableAccounts(tx, row.user_id)
  return { app, step: 'choose', email, accounts, accountId: connection?.account_id ?? null }
}

async function appOf(tx: Reader, { client_id }: AccountChoiceRow): Promise<string> {
  const client = await clientById(tx, client_id)
  return client ? nameOf(client) : 'An app'
}

async function done(tx: Reader, { user_id, account_id }: AccountChoiceRow, app: string): Promise<ShownChoice> {
  const chosen = (await choosableAccounts(tx, user_id)).find(({ id }) => id === account_id)
  return { app, step: 'done', account: chosen?.name ?? null }
}

interface Asking {
  readonly row: AccountChoiceRow
  readonly app: string
  readonly sessionId: string
}

const orderOf = ({ row, app, sessionId }: Asking) => ({
  userId: row.user_id,
  action: 'account_choice',
  // Named by its id: what is answered for one link says nothing of another.
  detail: { app, request: 'Choose the business account that the app may look after', link: row.id },
  sessionId,
})

/** Asked at once, of those who have a device; what it approved is spent by the choice. */
async function secondFactor(
  tx: Writer,
  asking: Asking,
  service: ServiceContext,
): Promise<'passed' | 'wait' | 'ask_again'> {
  const order = { ...orderOf(asking), at: service.clock.now() }
  if (!(await hasDevice(tx, order.userId))) return 'passed'
  const asked = await lastAsked(tx, order)
  if (!asked) await requireSecondFactor(tx, order, service)
  if (!asked || asked.status === 'pending') return 'wait'
  return asked.status === 'approved' ? 'passed' : 'ask_again'
}

/** What somebody filled in, and the button that they pressed. */
export interface FilledChoice {
  readonly answer: (typeof choiceAnswers)[number]
  readonly email?: string | undefined
  readonly code?: string | undefined
  /** `none`, or the id of the account to grant. */
  readonly account?: string | undefined
}

export const choiceAnswers = [...signInAnswers, 'ask_again', 'choose'] as const

/** Where an answer leads, and the session that goes on. */
export interface Taken {
  readonly step?: SignInStep['step']
  readonly session?: string
}

/** Takes an answer. Gives why it was not taken; throws as `visitChoice`. */
export async function answerChoice(
  tx: Writer,
  at: ChoiceVisit,
  filled: FilledChoice,
  service: ServiceContext,
): Promise<Taken | Problem> {
  const { sessionId } = at
  await choiceByToken(tx, at.token, service.clock.now())
  const { answer } = filled
  if (isSignInAnswer(answer)) return answerSignIn(tx, { ...filled, answer }, sessionId, service)
  return answer === 'ask_again' ? askAgain(tx, at, service) : take(tx, at, filled.account ?? '', service)
}

async function askAgain(tx: Writer, at: ChoiceVisit, service: ServiceContext): Promise<Taken> {
  const shown = await visitChoice(tx, { ...at, step: undefined }, service)
  if (shown.step !== 'ask_again') return {}
  const row = await choiceByToken(tx, at.token, service.clock.now())
  const order = orderOf({ row, app: shown.app, sessionId: at.sessionId })
  await requireSecondFactor(tx, { ...order, at: service.clock.now() }, service)
  return {}
}

async function take(tx: Writer, at: ChoiceVisit, account: string, service: ServiceContext): Promise<Taken | Problem> {
  const shown = await visitChoice(tx, { ...at, step: undefined }, service)
  // Nobody chooses what they are not asked; the page says where they are.
  if (shown.step !== 'choose') return {}
  const chosen = account === 'none' ? null : shown.accounts.find(({ id }) => String(id) === account)
  if (chosen === undefined)
    return problem('field_invalid', {
      detail: '"account" must be none, or one of your accounts.',
      fields: { field: 'account' },
    })
  const now = service.clock.now()
  const row = await choiceByToken(tx, at.token, now)
  const order = { ...orderOf({ row, app: shown.app, sessionId: at.sessionId }), at: now }
  const asked = await lastAsked(tx, order)
  if (asked?.status === 'approved') await spendSecondFactor(tx, { ...order, id: asked.request.id })
  await choose(tx, row, chosen?.id ?? null, service)
  return {}
}
