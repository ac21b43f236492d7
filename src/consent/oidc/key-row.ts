import { collection } from '../../storage/storage.js'

/** How long a public key stays published after its last signature. */
export const PUBLISHED_FOR = 24 * 3_600_000

/** A published public key: P-256 for ES256, or RSA of 2048 bits for RS256. */
export type PublicJwk =
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }

/** A key that tokens are signed with. Each algorithm has one that is current. The id is its RFC 7638 thumbprint, the `kid`. */
export interface OidcKeyRow {
  readonly id: string
  readonly public_jwk: PublicJwk
  /** The private JWK, encrypted. */
  readonly sealed: string
  readonly created_at: number
  /** Null while this key signs. */
  readonly retired_at: number | null
}

export const oidcKeys = collection<OidcKeyRow>()(
  'oidc_keys',
  { byRetirement: { fields: ['retired_at'] }, byAge: { fields: ['created_at'] } },
  {
    secrets: ['sealed'],
    growth: { by: 'the service', most: 1000, per: 'the service', beyond: 'oldest ends' },
    retention: { after: 'a new key replaces it', keepMs: PUBLISHED_FOR, index: 'byRetirement' },
  },
)
