import { memberships } from '../../../identity/accounts/account.js'
import { clients } from '../../../identity/tokens/token.js'
import { type UserRow, userByEmail, users } from '../../../identity/users/user.js'
import type { Fix } from './explanation.js'
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

/** The user that a request is about, or else the newest one. */
export async function likelyUser(asked: RefusedRequest): Promise<UserRow | undefined> {
  const named = await userByEmail(asked.tx, asked.sentText('email') ?? '')
  return named ?? (await asked.newest(users, 'id', [], 1))[0]
}

/** The account that a request is likely about: of the calling user, or the newest one with credentials. */
export async function likelyAccount(asked: RefusedRequest): Promise<number | undefined> {
  const [member] = await asked.rows(memberships, 'byUser', [asked.callerId('user') ?? 0], 1)
  return member?.account_id ?? (await asked.newest(clients, 'byOwner', ['account'], 1))[0]?.owner_id
}

/** Signs a user in, and then makes the request in that session. */
export async function signInFirst(asked: RefusedRequest, user?: Pick<UserRow, 'id' | 'email'>): Promise<Fix> {
  const { id, email = 'reader@example.test' } = user ?? (await likelyUser(asked)) ?? {}
  const next = asked.again({ headers: { 'x-session-id': '{session_id}' }, as: id ? `user:${id}` : undefined })
  return asked.first('POST /_sandbox/sign-in', { body: { email }, next })
}

export const createAccountFirst = (asked: RefusedRequest): Fix => asked.first('POST /v4/account', { body: {} })

/** Gets an access token for client credentials, and then makes the request with it. */
export function tokenFirst(
  asked: RefusedRequest,
  kind: 'account' | 'user',
  id: number | undefined,
  next: Fix['next'] = asked.again({ as: `${kind}:${id}`, headers: { authorization: 'Bearer {access_token}' } }),
): Fix {
  if (id === undefined) return createAccountFirst(asked)
  return asked.first(`POST /v4/${kind}/oauth/token`, { as: `${kind}:${id}`, next })
}

/** Gets a credential that the operation takes, and then makes the request with it. */
export async function credentialFirst(asked: RefusedRequest): Promise<Fix> {
  const auth = asked.operation?.auth ?? []
  if (auth.includes('session') || auth.includes('guest')) return signInFirst(asked)
  if (auth.includes('account')) return tokenFirst(asked, 'account', await likelyAccount(asked))
  if (auth.includes('user')) return tokenFirst(asked, 'user', (await likelyUser(asked))?.id)
  if (!auth.includes('agent')) return signInFirst(asked)
  const body = { redirect_uris: ['http://localhost/callback'], token_endpoint_auth_method: 'none' }
  return asked.first('POST /v4/oidc/reg', { body })
}
