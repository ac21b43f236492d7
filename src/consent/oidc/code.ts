import { base64url } from '../../base/encoding.js'
import { digest } from '../../base/secrets.js'
import { isCurrent } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

const AUTHORIZATION_CODE_MS = 60_000
/** How long a used code is stored. Its tokens live no longer, so any reuse that matters is noticed. */
const STORED_FOR = 25 * 3_600_000

/** An authorization code. The id is its digest. */
export interface OidcCodeRow {
  readonly id: string
  readonly connection_id: number
  /** Of the connection, when the code was issued. */
  readonly generation: number
  readonly client_id: string
  readonly user_id: number
  readonly redirect_uri: string
  /** The S256 challenge (RFC 7636). Null if a confidential client sent none. */
  readonly code_challenge: string | null
  readonly scopes: readonly string[]
  readonly resource: string | null
  readonly nonce: string | null
  readonly auth_time: number
  readonly amr: readonly string[]
  readonly expires_at: number
  /** The family of its tokens. Null until the code is used. */
  readonly family_id: string | null
}

export const oidcCodes = collection<OidcCodeRow>()(
  'oidc_codes',
  {
    byExpiry: { fields: ['expires_at'] },
  },
  {
    refs: { client_id: 'oidc_clients', connection_id: 'oidc_connections', family_id: null, user_id: 'users' },
    secrets: ['id', 'family_id', 'code_challenge', 'nonce'],
    growth: {
      by: 'a user, by connecting an app',
      bound: 'One for each answer to a page that asks. It ends after 25 hours.',
    },
    retention: { after: 'the code expires', keepMs: STORED_FOR, index: 'byExpiry' },
  },
)

/** Issues a code that works once, within a minute. */
export async function issueCode(
  tx: Writer,
  facts: Omit<OidcCodeRow, 'id' | 'expires_at' | 'family_id'>,
  at: number,
  { random }: Pick<ServiceContext, 'random'>,
): Promise<string> {
  const code = base64url(random.bytes(32))
  tx.put(oidcCodes, { id: digest(code), ...facts, expires_at: at + AUTHORIZATION_CODE_MS, family_id: null })
  return code
}

/** Whether a code can still be exchanged. */
export const isAuthorizationCodeCurrent = ({ expires_at }: OidcCodeRow, at: number): boolean =>
  isCurrent(expires_at, AUTHORIZATION_CODE_MS, at)

export const findCode = (tx: Reader, code: string): Promise<OidcCodeRow | undefined> => tx.get(oidcCodes, digest(code))

/** Marks a code as used. */
export const spendAuthorizationCode = (tx: Writer, row: OidcCodeRow, familyId: string): void =>
  tx.put(oidcCodes, { ...row, family_id: familyId })
