import type { Entry } from '../onion/entry.js'

/** Who sent the request of an entry, and with what kind of credential. */
export type EntryCaller =
  | { readonly kind: 'none' }
  /** An access token of `account:1`, `user:2` or `agent:3`. */
  | { readonly kind: 'token'; readonly of: 'account' | 'user' | 'agent'; readonly id: number }
  /** A session. Null for guests. */
  | { readonly kind: 'session'; readonly userId: number | null }
  /** Client credentials. */
  | { readonly kind: 'client'; readonly clientId: string }
  /** A refresh token, which is spent. */
  | { readonly kind: 'refresh' }
  /** Credentials that were refused. `scheme` is that of the header `Authorization`. */
  | { readonly kind: 'wrong'; readonly scheme: string; readonly clientId?: string }

/** Finds out who called. The controls of a sandbox know no callers. */
export function callerOf(entry: Entry): EntryCaller {
  const { principal, request, path, status } = entry
  const { authorization, cookie, 'x-session-id': session } = request.headers
  if (path.startsWith('/_sandbox/')) return { kind: 'none' }
  const [kind = '', id = ''] = principal?.split(/:(.*)/) ?? []
  if (authorization !== undefined) {
    const [scheme = ''] = authorization.split(' ')
    const wrong = { kind: 'wrong', scheme } as const
    if (kind === 'client') return entry.code === undefined ? { kind, clientId: id } : { ...wrong, clientId: id }
    if (kind === 'account' || kind === 'user' || kind === 'agent') return { kind: 'token', of: kind, id: Number(id) }
    // It was refused before its credential was read, or for it.
    if ((status ?? 0) >= 400) return wrong
    if (path.includes('/oauth/token')) return { kind: 'refresh' }
    return { kind: 'none' }
  }
  if (session === undefined && cookie === undefined) return { kind: 'none' }
  return { kind: 'session', userId: kind === 'user' ? Number(id) : null }
}
