import { randomHex } from '../../base/secrets.js'
import { findConnection, isInFamily } from '../../consent/oidc/connection.js'
import { issueTokens } from '../../consent/oidc/exchange.js'
import { oidcTokens } from '../../consent/oidc/token.js'
import type { ServiceContext } from '../../http/context.js'
import { newSessionId, startSession } from '../../identity/sessions/session.js'
import { clients, clientsOf, userClientSecret } from '../../identity/tokens/client.js'
import { tokenForClient } from '../../identity/tokens/token.js'
import { users } from '../../identity/users/user.js'
import type { Writer } from '../../storage/storage.js'
import { knownCredentials } from '../controls/seed/credentials.js'
import { sandboxOf } from '../onion/context.js'
import type { EntryCaller } from './entry-caller.js'
import { notReplayable } from './not-replayable.js'

type Headers = Readonly<Record<string, string>>

const AUTHORIZATION = 'request.headers.authorization'

/** Returns headers with a fresh credential of the same caller. Throws `not_replayable` if there is no such caller. */
export async function freshCredentials(tx: Writer, caller: EntryCaller, service: ServiceContext): Promise<Headers> {
  switch (caller.kind) {
    case 'none':
      return {}
    case 'token':
      return bearer(caller.of === 'agent' ? await agentToken(tx, caller.id, service) : await token(tx, caller, service))
    case 'session':
      return { 'x-session-id': await session(tx, caller.userId, service) }
    case 'client':
      return basic(caller.clientId, await clientSecret(tx, caller.clientId, service))
    case 'refresh':
      throw notReplayable(AUTHORIZATION, 'A refresh token is spent when it is used.')
    case 'wrong': {
      const unknown = `unknown_${randomHex(service.random, 16)}`
      if (/^basic$/i.test(caller.scheme)) return basic(caller.clientId ?? unknown, unknown)
      return { authorization: `${caller.scheme} ${unknown}` }
    }
  }
}

const bearer = (text: string): Headers => ({ authorization: `Bearer ${text}` })
const basic = (id: string, secret: string): Headers => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` })

async function token(
  tx: Writer,
  { of, id }: { of: 'account' | 'user' | 'agent'; id: number },
  service: ServiceContext,
): Promise<string> {
  if (of === 'agent') throw new Error('an agent has no client credentials')
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
  const added = sandboxOf(service).seededClients.values()
  const { accounts } = await knownCredentials(tx, {}, { keys: service.keys, added })
  const known = accounts.find(({ client_id }) => client_id === clientId)
  if (known) return known.client_secret
  throw notReplayable(AUTHORIZATION, 'The sandbox knows the client secrets of seeded accounts only.')
}
