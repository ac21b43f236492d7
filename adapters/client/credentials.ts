/** Client credentials of an account or a user. The client gets and refreshes tokens with them. */
export interface ClientCredentials {
  readonly client_id: string
  readonly client_secret: string
}

/** A token. With a refresh token, the client gets a new pair when it expires. */
export interface TokenCredentials {
  readonly access_token: string
  readonly refresh_token?: string | undefined
}

/** A session of a user or a guest. */
export interface SessionCredentials {
  readonly session_id: string
}

/** Who calls. `guest`: a session that the service issues with the first answer, and that this client keeps. */
export type ClientIdentity = ClientCredentials | TokenCredentials | SessionCredentials | 'guest'

export interface Signature {
  readonly headers: Readonly<Record<string, string>>
  /** Gets something better after a 401. Resolves to false if there is nothing. Absent: there never is. */
  readonly renew?: () => Promise<boolean>
}

export interface Signer {
  sign(): Promise<Signature>
  /** The client credentials, for the operations that read them. */
  readonly basic?: string | undefined
  learn?(headers: Headers): void
}

/** Gets a pair for an `Authorization` header. Rejects with a `Refusal`. */
export type Exchange = (authorization: string) => Promise<TokenCredentials>
export const anonymous: Signer = { sign: async () => ({ headers: {} }) }

/** Throws a TypeError if these are no credentials. */
export function signerOf(identity: ClientIdentity, exchange: Exchange): Signer {
  if (identity === 'guest') return sessionSigner(undefined)
  const { client_id, client_secret, access_token, refresh_token, session_id } = (identity ?? {}) as Partial<
    ClientCredentials & TokenCredentials & SessionCredentials
  > // Of a union, one has some of these.
  if (client_id && client_secret)
    return tokenSigner(exchange, undefined, `Basic ${btoa(`${client_id}:${client_secret}`)}`)
  if (access_token) return tokenSigner(exchange, { access_token, refresh_token }, undefined)
  if (session_id) return sessionSigner(session_id)
  throw new TypeError(
    'as() needs credentials: { client_id, client_secret }, { access_token }, { session_id } or "guest". See `accounts` and `users` of a seed.',
  )
}

function sessionSigner(first: string | undefined): Signer {
  let id = first
  return {
    sign: async () => ({ headers: id === undefined ? {} : { 'x-session-id': id } }),
    // A sign-in gives the session a new id.
    learn: (headers) => {
      id = headers.get('x-session-id') ?? id
    },
  }
}

/** Keeps the tokens of a caller. Calls that find a token expired at the same time wait for one exchange. */
function tokenSigner(exchange: Exchange, first: TokenCredentials | undefined, basic: string | undefined): Signer {
  let pair = first
  let pending: Promise<void> | undefined

  async function replacePair(): Promise<void> {
    const refresh = pair?.refresh_token
    try {
      if (refresh) {
        pair = await exchange(`Bearer ${refresh}`)
        return
      }
    } catch (error) {
      // The refresh token was used, revoked or has expired.
      if (!basic || !(error instanceof Error && 'status' in error && error.status === 401)) throw error
    }
    if (basic) pair = await exchange(basic)
  }

  const next = () => (pending ??= replacePair().finally(() => (pending = undefined)))
  return {
    basic,
    async sign() {
      if (!pair) await next()
      const token = pair?.access_token
      const renew = async () => {
        // Another call may have replaced this token already.
        if (pair?.access_token !== token) return true
        if (!basic && !pair?.refresh_token) return false
        await next()
        return true
      }
      return { headers: { authorization: `Bearer ${token}` }, renew }
    },
  }
}
