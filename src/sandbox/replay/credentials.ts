import { parsedJson } from '../../base/json.js'
import { Problem, problem } from '../../base/problem.js'
import { base64url, digest, randomHex } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { findConnection, isInFamily } from '../../consent/oidc/connection.js'
import { issueTokens } from '../../consent/oidc/exchange.js'
import { oidcTokens } from '../../consent/oidc/token.js'
import type { ServiceContext } from '../../http/context.js'
import { newSessionId, startSession } from '../../identity/sessions/session.js'
import { clients, clientsOf, tokenForClient, userClientSecret } from '../../identity/tokens/token.js'
import { users } from '../../identity/users/user.js'
import { events } from '../../jobs/events/event.js'
import { codesIn, outbox } from '../../jobs/outbox/outbox.js'
import { payments } from '../../payments/payments/payment.js'
import type { Collection, Row, Writer } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import { workingCredentials } from '../controls/seed/credentials.js'
import {
  type CallDraft,
  type EntryCaller,
  filledTemplate,
  notReplayable,
  type Secret,
  secretsIn,
} from './call-draft.js'
import type { ReplayStage } from './replay.js'

type Headers = Readonly<Record<string, string>>

const AUTHORIZATION = 'request.headers.authorization'

/** Returns headers with a fresh credential of the same caller. Throws `not_replayable` if there is no such caller. */
export async function freshCredentials(tx: Writer, caller: EntryCaller, service: ServiceContext): Promise<Headers> {
  if (caller.kind === 'none') return {}
  if (caller.kind === 'token') return { authorization: `Bearer ${await accessToken(tx, caller, service)}` }
  if (caller.kind === 'session') return { 'x-session-id': await session(tx, caller.userId, service) }
  if (caller.kind === 'client') return basic(caller.clientId, await clientSecret(tx, caller.clientId, service))
  if (caller.kind === 'refresh') throw notReplayable(AUTHORIZATION, 'A refresh token is spent when it is used.')
  const unknown = `unknown_${randomHex(service.random, 16)}`
  if (/^basic$/i.test(caller.scheme)) return basic(caller.clientId ?? unknown, unknown)
  return { authorization: `${caller.scheme} ${unknown}` }
}

const basic = (id: string, secret: string): Headers => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` })

type TokenCaller = Extract<EntryCaller, { kind: 'token' }>

async function accessToken(tx: Writer, { of, id }: TokenCaller, service: ServiceContext): Promise<string> {
  if (of === 'agent') return agentToken(tx, id, service)
  const at = service.clock.now()
  const known = (await clientsOf(tx, of, id)).find(({ deleted_at }) => deleted_at === null)
  if (!known) throw notReplayable(AUTHORIZATION, `${of}:${id} has no client credentials now.`)
  return (await tokenForClient(tx, known, at, service)).access_token
}

/** Repeats the grant of the last token of a connection. */
async function agentToken(tx: Writer, id: number, service: ServiceContext): Promise<string> {
  const at = service.clock.now()
  const connection = await findConnection(tx, id)
  const [last] = await tx.find(oidcTokens, { index: 'byConnection', prefix: [id], limit: 1, reverse: true })
  if (!last || !isInFamily(connection, last))
    throw notReplayable(AUTHORIZATION, `The user has disconnected the app of agent:${id}.`)
  const { family_id, connection_id, generation, client_id, user_id, scopes, audience, resource, auth_time, amr } = last
  const grant = { family_id, connection_id, generation, client_id, user_id, scopes, audience, resource, auth_time, amr }
  return (await issueTokens(tx, grant, { scopes: last.access_scopes, at }, service)).access_token
}

async function session(tx: Writer, userId: number | null, service: ServiceContext): Promise<string> {
  // A session of nobody is not stored.
  if (userId === null) return newSessionId(service)
  if (!(await tx.get(users, userId))) throw notReplayable('principal', `user:${userId} is gone.`)
  return (await startSession(tx, { userId, by: 'token', at: service.clock.now() }, service)).session_id
}

/** A secret that the sandbox knows: of a user, or of a seeded account. */
async function clientSecret(tx: Writer, clientId: string, service: ServiceContext): Promise<string> {
  const client = await tx.get(clients, clientId)
  if (client?.owner_kind === 'user') return userClientSecret(clientId, service)
  const { accounts } = await workingCredentials(tx, service)
  const known = accounts.find(({ client_id }) => client_id === clientId)
  if (known) return known.client_secret
  throw notReplayable(AUTHORIZATION, 'The sandbox knows the client secrets of seeded accounts only.')
}

/** As whom to call. */
export interface ActingOrder {
  /** `guest`, `account:1`, `user:2`, or `agent:3` for the app of connection 3. */
  readonly principal: string
  /** With what kind of credential. Only users have sessions. Default: `token`. */
  readonly by?: 'token' | 'session' | undefined
}

/** A caller, with headers that identify it. */
export interface ActingCaller {
  readonly principal: string
  readonly headers: Readonly<Record<string, string>>
}

/** Makes a credential of a caller. Nobody called, so it leaves no event. Throws `not_found`. */
export async function actAsCaller({ principal, by }: ActingOrder, service: ServiceContext): Promise<ActingCaller> {
  const caller = callerNamed(principal, by)
  try {
    const headers = await service.storage.write((tx) => freshCredentials(withoutEvents(tx), caller, service))
    return { principal, headers }
  } catch (cause) {
    if (!(cause instanceof Problem) || cause.code !== 'not_replayable') throw cause
    throw problem('not_found', { detail: String(cause.facts.why), cause })
  }
}

function callerNamed(principal: string, by: ActingOrder['by'] = 'token'): EntryCaller {
  const [kind, id] = principal.split(':')
  if (kind === 'guest') return { kind: 'session', userId: null }
  if (by === 'session') {
    if (kind === 'user') return { kind: 'session', userId: Number(id) }
    throw problem('field_invalid', { detail: 'Only users have sessions.', fields: { field: 'by' } })
  }
  return { kind: 'token', of: kind === 'account' || kind === 'agent' ? kind : 'user', id: Number(id) }
}

const withoutEvents = (tx: Writer): Writer => ({
  get: (from, id) => tx.get(from, id),
  getMany: (from, ids) => tx.getMany(from, ids),
  find: (from, query) => tx.find(from, query),
  nextId: async (of) => (of === events.name ? 0 : tx.nextId(of)),
  nextIds: (of) => tx.nextIds(of),
  put<R extends Row>(into: Collection<R>, row: R) {
    if (into.name !== events.name) tx.put(into, row)
  },
  remove: (from, id) => tx.remove(from, id),
})

export interface FreshSecrets {
  readonly headers: Readonly<Record<string, string>>
  readonly plainText: (secret: Secret) => string
}

/** Makes the credentials, nonces and codes of a request anew. Throws `not_replayable`, and then nothing was changed. */
export async function freshSecrets(draft: CallDraft, stage: ReplayStage): Promise<FreshSecrets> {
  const { service } = stage
  const secrets = secretsIn(draft)
  for (const secret of secrets) if (!remade(draft, secret)) throw unknownSecret(secret)
  const { headers, made } = await service.storage.write(async (tx) => {
    const values = new Map<Secret, string>()
    for (const secret of secrets) {
      const kind = remade(draft, secret)
      if (kind === 'nonce') values.set(secret, await freshNonce(tx, { draft, secret, stage }))
      if (kind === 'device') values.set(secret, `replayed-${randomHex(service.random, 16)}`)
    }
    return { headers: await freshCredentials(tx, draft.caller, service), made: values }
  })
  const code = secrets.find((secret) => remade(draft, secret) === 'code')
  if (code) made.set(code, await mailedCode({ draft, code, headers }, stage))
  return {
    headers,
    plainText(secret) {
      const value = made.get(secret)
      if (value === undefined) throw unknownSecret(secret)
      return value
    },
  }
}

export const unknownSecret = ({ field }: Secret) =>
  notReplayable(field, 'The journal does not keep secrets, and this one cannot be made anew.')

/** How a secret is made anew. Undefined if it cannot be. */
export function remade({ entry }: CallDraft, { name }: Secret): 'nonce' | 'code' | 'device' | undefined {
  const { operation_id: operation } = entry
  if (name === 'nonce' && (operation === 'validatePayment' || operation === 'readPaymentNonce')) return 'nonce'
  if (name === 'code' && operation === 'verifySessionCode') return 'code'
  return name === 'token' && operation === 'createRegistration' ? 'device' : undefined
}

/** Gives a payment a new nonce. Outside of a fork only if its nonce is worth nothing, because its holder has the old one. */
export async function freshNonce(
  tx: Writer,
  { draft, secret, stage }: { draft: CallDraft; secret: Secret; stage: Pick<ReplayStage, 'service' | 'isFork'> },
): Promise<string> {
  const { entry } = draft
  const { service, isFork } = stage
  const nonce = base64url(service.random.bytes(32))
  if (entry.code === 'nonce_unknown') return nonce
  const id = Number(/"payment":\{"id":(\d+)/.exec(entry.response.body ?? '')?.[1] ?? Number.NaN)
  const payment = Number.isNaN(id) ? undefined : await tx.get(payments, id)
  if (!payment) throw notReplayable(secret.field, 'The answer does not say which payment it belonged to.')
  const isSpent = payment.nonce_used_at !== null || (payment.nonce_expires_at ?? 0) <= service.clock.now()
  if (!isFork && !isSpent) throw notReplayable(secret.field, 'Its holder may still use it. Replay in a fork.')
  tx.put(payments, { ...payment, nonce_digest: digest(nonce) })
  return nonce
}

async function mailedCode(
  { draft, code, headers }: { draft: CallDraft; code: Secret; headers: FreshSecrets['headers'] },
  stage: ReplayStage,
): Promise<string> {
  const email = emailIn(draft.body === null ? '' : filledTemplate(draft.body, () => ''))
  if (email === undefined) throw unknownSecret(code)
  const wrong = draft.entry.code === 'code_wrong'
  const sent = await stage.send({
    ...{ method: 'POST', path: '/v4/session/code', body: JSON.stringify({ email }) },
    headers: { ...headers, 'content-type': 'application/json' },
  })
  if (sent.status >= 300) throw notReplayable(code.field, `A new code is refused with status ${sent.status}.`)
  const [mail] = await stage.service.storage.read((tx) =>
    tx.find(outbox, { index: 'byToAndKind', prefix: [email, 'mail'], limit: 1, reverse: true }),
  )
  const mailed = mail && codesIn(mail)[0]
  if (mailed === undefined) throw unknownSecret(code)
  return wrong ? String((Number(mailed) + 1) % 1_000_000).padStart(6, '0') : mailed
}

export function emailIn(text: string): string | undefined {
  const fields = parsedJson(text)
  if (fields === undefined) return new URLSearchParams(text).get('email') ?? undefined
  return isObject(fields) && typeof fields.email === 'string' ? normalEmail(fields.email) : undefined
}
