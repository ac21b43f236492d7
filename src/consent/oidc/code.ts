import { base64url } from '../../base/encoding.js'
import { digest } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

const LIFETIME = 60_000
/** How long a used code is stored. Its tokens live no longer, so any reuse that matters is noticed. */
const STORED_FOR = 25 * 3_600_000

/** An authorization code. The id is its digest. */
export interface OidcCodeRow {
  readonly id: string
  readonly connection_id: number
  readonly client_id: string
  readonly user_id: number
  readonly redirect_uri: string
  /** The S256 challenge (RFC 7636). */
  readonly code_challenge: string
  readonly scopes: readonly string[]
  readonly resource: string | null
  readonly nonce: string | null
  readonly auth_time: number
  readonly amr: readonly string[]
  readonly expires_at: number
  /** The family of its tokens. Null until the code is used. */
  readonly family_id: string | null
}

export const oidcCodes = collection<OidcCodeRow>()('oidc_codes', {
  byExpiry: { fields: ['expires_at'] },
  byConnection: { fields: ['connection_id'] },
})

/** Issues a code that works once, within a minute. */
export async function issueCode(
  tx: Writer,
  facts: Omit<OidcCodeRow, 'id' | 'expires_at' | 'family_id'>,
  at: number,
  { random }: Pick<ServiceContext, 'random'>,
): Promise<string> {
  for (const old of await tx.find(oidcCodes, { index: 'byExpiry', prefix: [], limit: 5 }))
    if (old.expires_at + STORED_FOR <= at) tx.remove(oidcCodes, old.id)
  const code = base64url(random.bytes(32))
  tx.put(oidcCodes, { id: digest(code), ...facts, expires_at: at + LIFETIME, family_id: null })
  return code
}

export const findCode = (tx: Reader, code: string): Promise<OidcCodeRow | undefined> => tx.get(oidcCodes, digest(code))

/** Marks a code as used. */
export const spendAuthorizationCode = (tx: Writer, row: OidcCodeRow, familyId: string): void =>
  tx.put(oidcCodes, { ...row, family_id: familyId })
