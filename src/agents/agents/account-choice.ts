import { problem } from '../../base/problem.js'
import { base64url, digest } from '../../base/secrets.js'
import { isCurrent, seconds } from '../../base/time.js'
import type { Agent } from '../../consent/approvals/approval.js'
import { hasDevice } from '../../consent/devices/device.js'
import { appFields, clientById, type ShownApp, shownApp } from '../../consent/oidc/clients/client.js'
import { connectApp, findConnection, grantableAccounts, type NamedAccount } from '../../consent/oidc/connection.js'
import { findLastRequest } from '../../consent/second-factor/await-second-factor.js'
import { requireSecondFactor, spendSecondFactor } from '../../consent/second-factor/request.js'
import {
  type FilledSignIn,
  resumePageSignIn,
  type SignInStep,
  signInAnswers,
  signInRefusedAt,
  signInStep,
} from '../../consent/sign-in/sign-in-flow.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { formFlow, Next, type Visit } from '../../http/pages/form-flow.js'
import { findSession } from '../../identity/sessions/session.js'
import { emailOf } from '../../identity/users/user.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type AccountChoiceRow, accountChoices } from './changes/account-row.js'
import { choicePages, choiceSentence } from './choice-page.js'

export { grantedAccount } from '../../consent/oidc/connection.js'

const CHOICE_LINK_MS = 15 * 60_000

/** Creates a link at which the user chooses a business account. Throws `not_choosable`. */
export async function offerAccountChoice(
  tx: Writer,
  { user_id, client_id, connection_id }: Agent,
  { random, clock, baseUrl }: Pick<ServiceContext, 'random' | 'clock' | 'baseUrl'>,
): Promise<{ url: string; expires_at: number }> {
  if ((await grantableAccounts(tx, user_id)).length === 0) throw problem('not_choosable')
  const at = clock.now()
  const token = base64url(random.bytes(32))
  const expires_at = at + CHOICE_LINK_MS
  const row: AccountChoiceRow = {
    id: await tx.nextId('account_choices'),
    token_digest: digest(token),
    ...{ connection_id, user_id, client_id, expires_at },
    chosen_at: null,
    account_id: null,
  }
  tx.put(accountChoices, row)
  return { url: `${baseUrl}/agents/account-choice/${token}`, expires_at: seconds(expires_at) }
}

async function choiceByToken(tx: Reader, token: string, at: number): Promise<AccountChoiceRow> {
  const [row] = await tx.find(accountChoices, { index: 'byToken', prefix: [digest(token)], limit: 1 })
  if (!row) throw problem('not_found')
  if (!isCurrent(row.expires_at, CHOICE_LINK_MS, at) || !(await findConnection(tx, row.connection_id)))
    throw problem('link_expired')
  return row
}

async function choose(tx: Writer, row: AccountChoiceRow, accountId: number | null, service: ServiceContext) {
  const at = service.clock.now()
  const { user_id: userId, client_id: clientId } = row
  await connectApp(tx, { userId, clientId, accountId, scopes: [], at }, service)
  tx.put(accountChoices, { ...row, chosen_at: at, account_id: accountId })
}

/** What the page of an account choice shows. */
export type ShownChoice = { readonly app: ShownApp } & (
  | SignInStep
  /** Signed in as a user who did not connect the app. */
  | { readonly step: 'another'; readonly email: string }
  | { readonly step: 'wait' | 'ask_again' }
  | {
      readonly step: 'choose'
      readonly email: string
      readonly accounts: readonly NamedAccount[]
      readonly accountId: number | null
    }
  /** `account`: null means none. */
  | { readonly step: 'done'; readonly account: string | null }
)

type ChoiceVisit = Visit<{ readonly token: string }>

async function look(tx: Writer, visit: ChoiceVisit, service: ServiceContext): Promise<ShownChoice> {
  const { token, sessionId, step, refused } = visit
  const now = service.clock.now()
  const row = await choiceByToken(tx, token, now)
  const app = await appOf(tx, row)
  const session = await findSession(tx, sessionId, now)
  const signIn = await signInStep(tx, visit, now)
  const isSigningIn = signIn.step !== 'email' || step === 'email' || (step === 'device' && refused !== undefined)
  if (!session || isSigningIn) return { app, ...signIn }
  const email = (await emailOf(tx, `user:${session.user_id}`)) ?? ''
  if (session.user_id !== row.user_id) return { app, step: 'another', email }
  if (row.chosen_at !== null) return done(tx, row, app)
  const passed = await secondFactor(tx, { row, app, sessionId }, service)
  if (passed !== 'passed') return { app, step: passed }
  const connection = await findConnection(tx, row.connection_id)
  const accounts = await grantableAccounts(tx, row.user_id)
  return { app, step: 'choose', email, accounts, accountId: connection?.account_id ?? null }
}

async function appOf(tx: Reader, { client_id }: AccountChoiceRow): Promise<ShownApp> {
  const client = await clientById(tx, client_id)
  return client ? shownApp(client) : { title: 'An app', host: null }
}

async function done(tx: Reader, { user_id, account_id }: AccountChoiceRow, app: ShownApp): Promise<ShownChoice> {
  const chosen = (await grantableAccounts(tx, user_id)).find(({ id }) => id === account_id)
  return { app, step: 'done', account: chosen?.name ?? null }
}

type Asking = { readonly row: AccountChoiceRow; readonly app: ShownApp; readonly sessionId: string }

const orderOf = ({ row, app, sessionId }: Asking) => ({
  userId: row.user_id,
  action: 'account_choice',
  // The link's id keeps an answer for one link from counting for a different one.
  detail: { ...appFields(app), request: 'Choose the business account that the app may look after', link: row.id },
  sessionId,
})

/** Requests the second factor of a user who has a device. The choice spends it. */
async function secondFactor(tx: Writer, asking: Asking, service: ServiceContext) {
  const order = { ...orderOf(asking), at: service.clock.now() }
  if (!(await hasDevice(tx, order.userId))) return 'passed'
  const asked = await findLastRequest(tx, order)
  if (!asked) await requireSecondFactor(tx, order, service)
  if (!asked || asked.status === 'pending') return 'wait'
  return asked.status === 'approved' ? 'passed' : 'ask_again'
}

async function askAgain(tx: Writer, visit: ChoiceVisit, _: object, service: ServiceContext): Promise<Next> {
  const shown = await look(tx, { ...visit, step: undefined }, service)
  if (shown.step !== 'ask_again') return new Next()
  const at = service.clock.now()
  const row = await choiceByToken(tx, visit.token, at)
  await requireSecondFactor(tx, { ...orderOf({ row, app: shown.app, sessionId: visit.sessionId }), at }, service)
  return new Next()
}

type FilledChoice = FilledSignIn & { readonly account?: string | undefined }

async function takeChoice(tx: Writer, visit: ChoiceVisit, { account = '' }: FilledChoice, service: ServiceContext) {
  const shown = await look(tx, { ...visit, step: undefined }, service)
  // Ignores a form that does not belong to the current step. The page shows that step.
  if (shown.step !== 'choose') return new Next()
  const chosen = account === 'none' ? null : shown.accounts.find(({ id }) => String(id) === account)
  if (chosen === undefined) return fieldRefused('account', 'must be none, or one of your accounts')
  const at = service.clock.now()
  const row = await choiceByToken(tx, visit.token, at)
  const order = { ...orderOf({ row, app: shown.app, sessionId: visit.sessionId }), at }
  const asked = await findLastRequest(tx, order)
  if (asked?.status === 'approved') await spendSecondFactor(tx, { ...order, id: asked.request.id })
  await choose(tx, row, chosen?.id ?? null, service)
  return new Next()
}

export const choiceFlow = formFlow({
  path: '/agents/account-choice/:token',
  check: (tx: Writer, { token }: ChoiceVisit, { clock }: ServiceContext) => choiceByToken(tx, token, clock.now()),
  signedIn: resumePageSignIn,
  look,
  pages: choicePages,
  sentence: choiceSentence,
  refusedTitle: () => 'Nothing to choose here',
  refusedAt: signInRefusedAt,
  answers: { ...signInAnswers, ask_again: askAgain, choose: takeChoice },
})
