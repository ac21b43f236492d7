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
import type { Reader, Writer } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import { type SigningAlgorithm, signingAlgorithms } from './clients/client.js'
import { type OidcKeyRow, oidcKeys, PUBLISHED_FOR, type PublicJwk } from './key-row.js'

/** More keys than a service has at once: each is removed a day after its rotation. */
const MAX_KEYS = 1000
type KeyContext = Pick<ServiceContext, 'keys'>
const allKeys = (tx: Reader) => tx.find(oidcKeys, { index: 'byAge', prefix: [], limit: MAX_KEYS, reverse: true })
const algorithmOf = ({ public_jwk }: OidcKeyRow): SigningAlgorithm => (public_jwk.kty === 'EC' ? 'ES256' : 'RS256')
const sealedFieldOf = (kid: string): string => `oidc_keys.${kid}.private`

/** The key set that verifies signatures (RFC 7517): first the current keys, then those retired within a day. */
export async function publishedKeys(tx: Reader, at: number) {
  const rows = (await allKeys(tx)).filter(({ retired_at }) => retired_at === null || retired_at + PUBLISHED_FOR > at)
  return rows
    .sort((a, b) => rankOf(a) - rankOf(b))
    .map((row) => ({ ...row.public_jwk, kid: row.id, alg: algorithmOf(row), use: 'sig' as const }))
}

const rankOf = (row: OidcKeyRow): number =>
  signingAlgorithms.indexOf(algorithmOf(row)) + (row.retired_at === null ? 0 : signingAlgorithms.length)

export async function hasEveryKey(tx: Reader): Promise<boolean> {
  const current = (await allKeys(tx)).filter(({ retired_at }) => retired_at === null)
  return signingAlgorithms.every((algorithm) => current.some((row) => algorithmOf(row) === algorithm))
}

/** The current key for an algorithm. Creates one if there is none, or if a moved state cannot decrypt it. */
export async function ensureKey(tx: Writer, algorithm: SigningAlgorithm, at: number, context: KeyContext) {
  const current = (await allKeys(tx)).find((row) => row.retired_at === null && algorithmOf(row) === algorithm)
  const known = current && (await openKey(current, context))
  if (known) return { kid: current.id, privateJwk: known }
  const made = await rotateKey(tx, algorithm, at, context)
  return { kid: made.id, privateJwk: required(await openKey(made, context), `the private half of key ${made.id}`) }
}

/** Creates new keys that sign from now on. The old ones stay published for a day. */
export async function rotateKeys(tx: Writer, at: number, context: KeyContext): Promise<void> {
  for (const algorithm of signingAlgorithms) await rotateKey(tx, algorithm, at, context)
}

async function rotateKey(tx: Writer, algorithm: SigningAlgorithm, at: number, { keys }: KeyContext) {
  for (const old of await allKeys(tx))
    if (old.retired_at === null && algorithmOf(old) === algorithm) tx.put(oidcKeys, { ...old, retired_at: at })
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const id = await calculateJwkThumbprint(jwk)
  const sealed = await keys.seal(JSON.stringify(jwk), sealedFieldOf(id))
  const row: OidcKeyRow = { id, public_jwk: publicHalf(jwk), sealed, created_at: at, retired_at: null }
  tx.put(oidcKeys, row)
  return row
}

function publicHalf({ kty, x, y, n, e }: JWK): PublicJwk {
  if (kty === 'RSA') return { kty: 'RSA', n: required(n, '`n` of a key'), e: required(e, '`e` of a key') }
  return { kty: 'EC', crv: 'P-256', x: required(x, '`x` of a key'), y: required(y, '`y` of a key') }
}

async function openKey({ id, sealed }: OidcKeyRow, { keys }: KeyContext): Promise<object | undefined> {
  const text = await keys.open(sealed, sealedFieldOf(id))
  return text === undefined ? undefined : JSON.parse(text)
}

/** Signs claims as a JWT of a type: `at+jwt` or `JWT`. */
export async function sign(
  tx: Writer,
  { claims, type, algorithm, at }: { claims: object; type: string; algorithm: SigningAlgorithm; at: number },
  context: KeyContext,
): Promise<string> {
  const { kid, privateJwk } = await ensureKey(tx, algorithm, at, context)
  const key = await importJWK(privateJwk, algorithm)
  return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: algorithm, kid, typ: type })
    .sign(key)
}

/** The claims of a JWT of this type that one of our keys signed, expired or not. Otherwise undefined. */
export async function signedClaims(tx: Reader, jwt: string, type: string) {
  try {
    const { payload, protectedHeader } = await compactVerify(
      jwt,
      async ({ kid = '', alg }) => {
        const row = await tx.get(oidcKeys, kid)
        if (!row || algorithmOf(row) !== alg) throw new Error('unknown key')
        return importJWK({ ...row.public_jwk }, alg)
      },
      { algorithms: [...signingAlgorithms] },
    )
    if (protectedHeader.typ !== type) return undefined
    const claims: unknown = JSON.parse(new TextDecoder().decode(payload))
    return isObject(claims) ? claims : undefined
  } catch {
    return undefined
  }
}
