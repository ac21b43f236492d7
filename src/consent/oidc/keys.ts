import {
  CompactSign,
  calculateJwkThumbprint,
  compactVerify,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'

const ALGORITHM = 'ES256' as const
/** How long a public key stays published after its last signature. */
const PUBLISHED_FOR = 24 * 3_600_000
/** More keys than a service has at once: each is removed a day after its rotation. */
const MAX_KEYS = 1000

/** A published P-256 public key. */
export interface PublicJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
}

/** A key that tokens are signed with. The id is its RFC 7638 thumbprint, the `kid`. */
export interface OidcKeyRow {
  readonly id: string
  readonly public_jwk: PublicJwk
  /** The private JWK, encrypted. */
  readonly sealed: string
  readonly created_at: number
  /** Null while this key signs. */
  readonly retired_at: number | null
}

export const oidcKeys = collection<OidcKeyRow>()('oidc_keys', { byAge: { fields: ['created_at'] } })

type KeyContext = Pick<ServiceContext, 'keys'>

const allKeys = (tx: Reader) => tx.find(oidcKeys, { index: 'byAge', prefix: [], limit: MAX_KEYS, reverse: true })

const sealedFieldOf = (kid: string): string => `oidc_keys.${kid}.private`

/** The key set that verifies signatures (RFC 7517): first the current key, then those retired within a day. */
export async function publishedKeys(tx: Reader, at: number) {
  const rows = (await allKeys(tx)).filter(({ retired_at }) => retired_at === null || retired_at + PUBLISHED_FOR > at)
  return rows
    .sort((a, b) => Number(a.retired_at !== null) - Number(b.retired_at !== null))
    .map(({ id, public_jwk }) => ({ ...public_jwk, kid: id, alg: ALGORITHM, use: 'sig' as const }))
}

/** Returns the current key. Creates one if there is none, or if it cannot be decrypted because the state was moved without its key. */
export async function ensureKey(
  tx: Writer,
  at: number,
  context: KeyContext,
): Promise<{ kid: string; privateJwk: object }> {
  const current = (await allKeys(tx)).find(({ retired_at }) => retired_at === null)
  const known = current && (await openKey(current, context))
  if (known) return { kid: current.id, privateJwk: known }
  const made = await rotateKeys(tx, at, context)
  return { kid: made.id, privateJwk: required(await openKey(made, context), `the private half of key ${made.id}`) }
}

/** Creates a new key that signs from now on, and returns it. The old one stays published for a day. */
export async function rotateKeys(tx: Writer, at: number, { keys }: KeyContext): Promise<OidcKeyRow> {
  for (const old of await allKeys(tx)) {
    if (old.retired_at === null) tx.put(oidcKeys, { ...old, retired_at: at })
    else if (old.retired_at + PUBLISHED_FOR <= at) tx.remove(oidcKeys, old.id)
  }
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const id = await calculateJwkThumbprint(jwk)
  const sealed = await keys.seal(JSON.stringify(jwk), sealedFieldOf(id))
  const row: OidcKeyRow = { id, public_jwk: publicHalf(jwk), sealed, created_at: at, retired_at: null }
  tx.put(oidcKeys, row)
  return row
}

const publicHalf = ({ x, y }: JWK): PublicJwk => ({
  kty: 'EC',
  crv: 'P-256',
  x: required(x, '`x` of a key'),
  y: required(y, '`y` of a key'),
})

async function openKey({ id, sealed }: OidcKeyRow, { keys }: KeyContext): Promise<object | undefined> {
  const text = await keys.open(sealed, sealedFieldOf(id))
  return text === undefined ? undefined : JSON.parse(text)
}

/** Signs claims as a JWT of a type: `at+jwt` or `JWT`. */
export async function sign(
  tx: Writer,
  { claims, type, at }: { claims: object; type: string; at: number },
  context: KeyContext,
): Promise<string> {
  const { kid, privateJwk } = await ensureKey(tx, at, context)
  const key = await importJWK(privateJwk, ALGORITHM)
  return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: ALGORITHM, kid, typ: type })
    .sign(key)
}

/** The claims of a JWT of this type that one of our keys signed, expired or not. Otherwise undefined. */
export async function signedClaims(
  tx: Reader,
  jwt: string,
  type: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const { payload, protectedHeader } = await compactVerify(
      jwt,
      async ({ kid = '' }) => {
        const row = await tx.get(oidcKeys, kid)
        if (!row) throw new Error('unknown key')
        return importJWK({ ...row.public_jwk }, ALGORITHM)
      },
      { algorithms: [ALGORITHM] },
    )
    if (protectedHeader.typ !== type) return undefined
    const claims: unknown = JSON.parse(new TextDecoder().decode(payload))
    return isObject(claims) ? claims : undefined
  } catch {
    return undefined
  }
}
