import { Problem, problem } from '../../../base/problem.js'
import { digest } from '../../../base/secrets.js'
import { isCurrent } from '../../../base/time.js'
import type { CallSource, ServiceContext } from '../../../http/context.js'
import { fieldRefused } from '../../../http/fields/field.js'
import { formFlow, Next, type Visit } from '../../../http/pages/form-flow.js'
import { findSession, isSignedInByPerson, type SessionRow } from '../../../identity/sessions/session.js'
import { users } from '../../../identity/users/user.js'
import type { Writer } from '../../../storage/storage.js'
import { hasDevice } from '../../devices/device.js'
import { requireSecondFactor, spendSecondFactor } from '../../second-factor/request.js'
import { type FilledSignIn, mailCode, resumeCodeSignIn, verifyCode } from '../../sign-in/sign-in-flow.js'
import {
  appFields,
  clientById,
  isOwnRedirect,
  type OidcClientRow,
  ownScopes,
  type ShownApp,
  shownApp,
} from '../clients/client.js'
import { redirectOrigin } from '../clients/redirect-uri.js'
import { type ConnectionRow, connectApp, connectionOf, grantableAccounts } from '../connection.js'
import { issueCode } from '../token.js'
import { answerAddress, INTERACTION_LIFETIME } from './authorization.js'
import { interactionPages } from './interaction-page.js'
import {
  type AuthorizationAnswer,
  emailHint,
  type InteractionRow,
  mustSignIn,
  oidcInteractions,
} from './interaction-row.js'

type Step =
  | { readonly step: 'email' | 'code'; readonly email: string }
  | { readonly step: 'wait' | 'ask_again' }
  | Awaited<ReturnType<typeof consentStep>>
  | { readonly step: 'turned_back'; readonly why: string; readonly location: string }

interface InteractionFrame {
  readonly app: ShownApp
  readonly origin: string
  readonly scheme: string
  readonly refused?: Problem | undefined
  readonly session?: string
}

export type ShownInteraction = InteractionFrame & Step
type InteractionVisit = Visit<{ readonly id: string }>
type FilledInteraction = FilledSignIn & { readonly account?: string | undefined }

interface Interaction {
  readonly tx: Writer
  readonly service: ServiceContext
  readonly row: InteractionRow
  readonly client: OidcClientRow
  readonly sessionId: string
  readonly source: CallSource
  readonly session: SessionRow | undefined
}

async function look(tx: Writer, visit: InteractionVisit, service: ServiceContext): Promise<ShownInteraction | Next> {
  const interaction = await openInteraction(tx, visit, service)
  // A sign-in may be waiting for the user's device.
  const since = interaction.row.email === null ? undefined : await resumeCodeSignIn(tx, visit.sessionId, service)
  if (since === undefined) return shownInteraction(interaction, await proceed(interaction))
  if (since instanceof Next) return proceedSignedIn(interaction, since, { byDevice: true })
  if (since.code === 'rejected') return returnToClient(interaction, { error: 'access_denied' })
  const shown = await changeAndProceed(interaction, { email: null })
  return shown instanceof Next ? shown : { ...shown, refused: since }
}

type AnswerHandler = (interaction: Interaction, filled: FilledInteraction) => Promise<ShownInteraction | Next>

/** An invalid request takes no answer. */
const answerWith =
  (take: AnswerHandler) =>
  async (tx: Writer, visit: InteractionVisit, filled: FilledInteraction, service: ServiceContext) => {
    const interaction = await openInteraction(tx, visit, service)
    if (interaction.row.refused) return shownInteraction(interaction, await proceed(interaction))
    return take(interaction, filled)
  }

const answerByChange = (changes: (row: InteractionRow) => Partial<InteractionRow>) =>
  answerWith((interaction) => changeAndProceed(interaction, changes(interaction.row)))

const deny = answerWith(async (interaction) => returnToClient(interaction, { error: 'access_denied' }))

export const interactionFlow = formFlow({
  path: '/oidc/interaction/:id',
  versions: ['v4'],
  look,
  pages: interactionPages,
  answers: {
    continue: answerWith((interaction, { email = '' }) => mailInteractionCode(interaction, email)),
    resend: answerWith((interaction) => mailInteractionCode(interaction, interaction.row.email ?? '')),
    verify: answerWith(verify),
    other_email: answerByChange(() => ({ email: null })),
    switch: answerByChange(({ request }) => ({
      signed_in: false,
      request: { ...request, prompt: [...request.prompt, 'login'] },
    })),
    ask_again: answerByChange(() => ({ second_factor_id: null })),
    allow: answerWith(allow),
    deny,
    cancel: deny,
  },
})

const NO_PROGRESS = { email: null, signed_in: false, second_factor_id: null, second_factor_passed: false } as const

async function openInteraction(tx: Writer, { id, sessionId, source }: InteractionVisit, service: ServiceContext) {
  const row = await tx.get(oidcInteractions, id)
  const client = row && (await clientById(tx, row.request.client_id))
  const at = service.clock.now()
  if (!client || !isCurrent(row.expires_at, INTERACTION_LIFETIME, at) || !isStillOwn(client, row))
    throw problem('interaction_expired')
  const session = await findSession(tx, sessionId, at)
  const session_digest = digest(sessionId)
  // A different session starts from the beginning.
  const own = row.session_digest === session_digest ? row : { ...row, ...NO_PROGRESS, session_digest }
  return { tx, service, row: own, client, sessionId, source, session }
}

/** Whether a request asks for what its client has registered. A client that was changed since starts again. */
const isStillOwn = (client: OidcClientRow, { request: { redirect_uri, scopes } }: InteractionRow): boolean =>
  isOwnRedirect(client, redirect_uri) && ownScopes(client, scopes).length === scopes.length

const shownInteraction = (interaction: Interaction, next: Step | Next, refused?: Problem): ShownInteraction | Next =>
  next instanceof Next ? next : { ...frameOf(interaction), ...next, refused }

const frameOf = ({ client, row }: Interaction): InteractionFrame => ({
  app: shownApp(client),
  origin: redirectOrigin(row.request.redirect_uri),
  scheme: new URL(row.request.redirect_uri).protocol,
})

async function changeAndProceed(interaction: Interaction, changes: Partial<InteractionRow>) {
  const row = { ...interaction.row, ...changes }
  interaction.tx.put(oidcInteractions, row)
  return shownInteraction(interaction, await proceed({ ...interaction, row }))
}

/** Goes through the steps in order: sign-in, second factor, consent, and back to the client with a code. */
async function proceed(interaction: Interaction): Promise<Step | Next> {
  const { tx, service, row, client, session } = interaction
  const { request } = row
  if (row.refused) return refuseRequest(interaction, row.refused)
  const silent = request.prompt.includes('none')
  if (!session || mustSignIn(row, session, service.clock.now())) {
    if (silent || row.signed_in) return returnToClient(interaction, { error: 'login_required' })
    return row.email === null
      ? { step: 'email', email: await emailHint(tx, request) }
      : { step: 'code', email: row.email }
  }
  const connection = await connectionOf(tx, session.user_id, client.id)
  const asks = request.prompt.includes('consent') || !isKnownReceiver(client, row) || !coversScopes(connection, row)
  if (silent && asks) return returnToClient(interaction, { error: 'consent_required' })
  const passed = asks || row.signed_in ? await passSecondFactor(interaction, session) : row
  if (!('id' in passed)) return passed
  if (asks || !connection) return consentStep(interaction, session, connection)
  return finishWithCode({ ...interaction, row: passed }, session, connection)
}

/** Redirects an error to a connected client. Anybody can register one, so any other gets a link instead (RFC 9700 section 4.11.2). */
async function refuseRequest(interaction: Interaction, refused: AuthorizationAnswer): Promise<Step | Next> {
  const { tx, row, client, session, service } = interaction
  if (session && (await connectionOf(tx, session.user_id, client.id))) return returnToClient(interaction, refused)
  const why = refused.error_description ?? `${refused.error}.`
  return { step: 'turned_back', why, location: answerAddress(row.request, refused, service) }
}

/** Whether only this client can get the answer. Apps on a device could take its place, so they ask each time (RFC 8252 section 8.6). */
const isKnownReceiver = ({ secret_digest }: OidcClientRow, { request }: InteractionRow): boolean =>
  secret_digest !== null || request.redirect_uri.startsWith('https:')

const coversScopes = (connection: ConnectionRow | undefined, { request }: InteractionRow): boolean =>
  connection !== undefined && request.scopes.every((scope) => connection.scopes.includes(scope))

async function mailInteractionCode(interaction: Interaction, text: string) {
  const { tx, sessionId, source, service } = interaction
  const mailed = await mailCode(tx, { email: text, sessionId, source }, service)
  if (mailed instanceof Problem)
    return shownInteraction(interaction, { step: 'email', email: text.slice(0, 254) }, mailed)
  return changeAndProceed(interaction, { email: mailed })
}

async function verify(interaction: Interaction, { code = '' }: FilledInteraction) {
  const { tx, row, sessionId, service } = interaction
  const { email } = row
  if (email === null) return changeAndProceed(interaction, {})
  const since = await verifyCode(tx, { email, code, sessionId, detail: appDetail(interaction) }, service)
  if (since instanceof Problem) return shownInteraction(interaction, { step: 'code', email }, since)
  return proceedSignedIn(interaction, since, { byDevice: false })
}

/** Continues with the session that just signed in. `byDevice`: the user approved on a device, and is not asked there again. */
async function proceedSignedIn(interaction: Interaction, { session: sessionId }: Next, how: { byDevice: boolean }) {
  if (sessionId === undefined) return shownInteraction(interaction, { step: 'wait' })
  const session = await findSession(interaction.tx, sessionId, interaction.service.clock.now())
  const progress = { ...NO_PROGRESS, session_digest: digest(sessionId), signed_in: true }
  const changes = { ...progress, second_factor_passed: how.byDevice }
  const shown = await changeAndProceed({ ...interaction, sessionId, session }, changes)
  return shown instanceof Next ? shown.as(sessionId) : { ...shown, session: sessionId }
}

const appDetail = ({ row, client }: Interaction) => ({
  ...appFields(shownApp(client)),
  answer_goes_to: redirectOrigin(row.request.redirect_uri),
})

/** Asks a user with a device for their second factor. Returns the step that waits for it, or the interaction if it is passed. */
async function passSecondFactor(interaction: Interaction, session: SessionRow): Promise<Step | Next | InteractionRow> {
  const { tx, row, sessionId, service } = interaction
  const { user_id: userId } = session
  if (row.second_factor_passed || !(await hasDevice(tx, userId))) return row
  const at = service.clock.now()
  const order = { userId, action: 'connect_app', detail: appDetail(interaction), sessionId, at }
  if (row.second_factor_id === null) {
    const { id } = await requireSecondFactor(tx, order, service)
    tx.put(oidcInteractions, { ...row, second_factor_id: id })
    return { step: 'wait' }
  }
  const result = await spendSecondFactor(tx, { ...order, id: row.second_factor_id })
  if (result === 'pending') return { step: 'wait' }
  if (result === 'rejected') return returnToClient(interaction, { error: 'access_denied' })
  if (result !== 'approved') return { step: 'ask_again' }
  const passed = { ...row, second_factor_passed: true }
  tx.put(oidcInteractions, passed)
  return passed
}

async function consentStep({ tx, row }: Interaction, { user_id }: SessionRow, connection: ConnectionRow | undefined) {
  const accounts = await grantableAccounts(tx, user_id)
  const { email = '' } = (await tx.get(users, user_id)) ?? {}
  const accountId = connection?.account_id ?? null
  return { step: 'consent', email, scopes: row.request.scopes, accounts, accountId } as const
}

async function allow(interaction: Interaction, { account = 'none' }: FilledInteraction) {
  const next = await proceed(interaction)
  const { tx, session, client, service } = interaction
  // Only the consent step can be allowed.
  if (next instanceof Next || next.step !== 'consent' || !session) return shownInteraction(interaction, next)
  const granted = account === 'none' ? undefined : next.accounts.find(({ id }) => String(id) === account)
  if (account !== 'none' && !granted)
    return shownInteraction(
      interaction,
      next,
      fieldRefused('account', 'must be none or the id of one of your accounts'),
    )
  const { user_id: userId } = session
  const row = (await tx.get(oidcInteractions, interaction.row.id)) ?? interaction.row
  const order = { userId, clientId: client.id, accountId: granted?.id ?? null, scopes: row.request.scopes }
  const connection = await connectApp(tx, { ...order, at: service.clock.now() }, service)
  return finishWithCode({ ...interaction, row }, session, connection)
}

async function finishWithCode(interaction: Interaction, session: SessionRow, connection: ConnectionRow) {
  const { tx, row, service } = interaction
  const { client_id, redirect_uri, code_challenge, scopes, resource, nonce } = row.request
  const facts = {
    ...{ client_id, redirect_uri, code_challenge, scopes, resource, nonce },
    connection_id: connection.id,
    generation: connection.generation,
    user_id: session.user_id,
    auth_time: session.created_at,
    // RFC 8176: a mailed code, and also a device. Nothing of that for a session that a program made.
    amr: !isSignedInByPerson(session) ? [] : row.second_factor_passed ? ['otp', 'mfa'] : ['otp'],
  }
  return returnToClient(interaction, { code: await issueCode(tx, facts, service.clock.now(), service) })
}

function returnToClient({ tx, row, service }: Interaction, answered: AuthorizationAnswer): Next {
  tx.remove(oidcInteractions, row.id)
  return new Next({ location: answerAddress(row.request, answered, service) })
}
