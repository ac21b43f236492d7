import { memberships } from '../../../identity/accounts/account.js'
import { clients } from '../../../identity/tokens/client.js'
import { type UserRow, userByEmail, users } from '../../../identity/users/user.js'
import type { ExampleCall, Fix } from './explanation.js'
import type { RefusedRequest } from './refused-request.js'

/** The kinds of caller that an operation takes, for sentences. */
export const takes = ({ operation }: RefusedRequest): string[] =>
  (operation?.auth ?? []).filter((kind) => kind !== 'none').map((kind) => CALLERS[kind] ?? kind)

const CALLERS: Readonly<Record<string, string>> = {
  account: 'the token of an account',
  user: 'the token of a user',
  session: 'a signed-in session',
  guest: 'any session',
  page: 'the session of a page',
  agent: 'the token of an app that a user connected',
  embed: 'a `public_secret`',
  client: 'client credentials',
  refresh: 'a refresh token',
}

/** The user that a request is about, or else the newest one. Undefined if there is no user. */
export async function likelyUser(asked: RefusedRequest): Promise<UserRow | undefined> {
  const email = asked.sentText('email')
  const named = email === undefined ? undefined : await userByEmail(asked.tx, email)
  return named ?? (await newestUser(asked))
}

async function newestUser({ tx }: RefusedRequest): Promise<UserRow | undefined> {
  const [row] = await tx.find(users, { index: 'id', prefix: [], limit: 1, reverse: true })
  return row
}

/** The account that a request is likely about: of the calling user, or the newest one with credentials. */
export async function likelyAccount(asked: RefusedRequest): Promise<number | undefined> {
  const user = asked.callerId('user')
  if (user !== undefined) {
    const [member] = await asked.tx.find(memberships, { index: 'byUser', prefix: [user], limit: 1 })
    if (member) return member.account_id
  }
  const prefix = ['account']
  const [client] = await asked.tx.find(clients, { index: 'byOwner', prefix, limit: 1, reverse: true })
  return client?.owner_id
}

/** The client id of an owner's newest client credentials. It is public, unlike the secret. */
export async function clientIdOf(
  { tx }: RefusedRequest,
  kind: 'account' | 'user',
  id: number,
): Promise<string | undefined> {
  const found = await tx.find(clients, { index: 'byOwner', prefix: [kind, id], limit: 10, reverse: true })
  return found.find(({ deleted_at }) => deleted_at === null)?.id
}

/** Signs a user in, and then makes the request in that session. */
export async function signInFirst(asked: RefusedRequest, user?: Pick<UserRow, 'id' | 'email'>): Promise<Fix> {
  const signed = user ?? (await likelyUser(asked))
  const example: ExampleCall = {
    method: 'POST',
    path: '/_sandbox/sign-in',
    body: { email: signed?.email ?? 'reader@example.test' },
  }
  return asked.first(
    'signInAsUser',
    example,
    asked.again({ headers: { 'x-session-id': '{session_id}' }, ...(signed && { as: `user:${signed.id}` }) }),
  )
}

export const createAccountFirst = (asked: RefusedRequest): Fix =>
  asked.first('createAccount', { method: 'POST', path: '/v4/account', body: {} })

/** Gets an access token for client credentials, and then makes the request with it. */
export async function tokenFirst(
  asked: RefusedRequest,
  kind: 'account' | 'user',
  id: number | undefined,
): Promise<Fix> {
  if (id === undefined) return createAccountFirst(asked)
  const as = `${kind}:${id}`
  const next = asked.again({ as, headers: { authorization: 'Bearer {access_token}' } })
  const operation = kind === 'account' ? 'createAccountToken' : 'createUserToken'
  return asked.first(operation, { method: 'POST', path: `/v4/${kind}/oauth/token`, as }, next)
}

/** Registers an app, which a user then connects. */
export const connectFirst = (asked: RefusedRequest): Fix =>
  asked.first('registerOidcClient', {
    method: 'POST',
    path: '/v4/oidc/reg',
    body: { redirect_uris: ['http://localhost/callback'], token_endpoint_auth_method: 'none' },
  })

/** Gets a credential that the operation takes, and then makes the request with it. */
export async function credentialFirst(asked: RefusedRequest): Promise<Fix> {
  const auth = asked.operation?.auth ?? []
  if (auth.includes('session') || auth.includes('guest')) return signInFirst(asked)
  if (auth.includes('account')) return tokenFirst(asked, 'account', await likelyAccount(asked))
  if (auth.includes('user')) return tokenFirst(asked, 'user', (await likelyUser(asked))?.id)
  return auth.includes('agent') ? connectFirst(asked) : signInFirst(asked)
}
