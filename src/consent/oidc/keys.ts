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

/** The algorithms without a current key. */
export async function unkeyedAlgorithms(tx: Reader): Promise<SigningAlgorithm[]> {
  const current = (await allKeys(tx)).filter(({ retired_at }) => retired_at === null)
  return signingAlgorithms.filter((algorithm) => !current.some((row) => algorithmOf(row) === algorithm))
}

/** Private keys that no state has yet. */
type NewKeys = ReadonlyMap<SigningAlgorithm, JWK>

/**
 * Makes a key for each algorithm. One for RSA takes as long as a hundred calls: make it before the transaction that stores
 * it, which holds up all others and may run again.
 */
export async function makeKeys(algorithms: readonly SigningAlgorithm[]): Promise<NewKeys> {
  const made = await Promise.all(algorithms.map(async (algorithm) => [algorithm, await makeKey(algorithm)] as const))
  return new Map(made)
}

async function makeKey(algorithm: SigningAlgorithm): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  return exportJWK(privateKey)
}

const firstKeys = new WeakMap<KeyContext, Promise<NewKeys>>()

/** Makes the first keys of a service, the same for all calls that need them at once. */
export function makeFirstKeys(algorithms: readonly SigningAlgorithm[], context: KeyContext): Promise<NewKeys> {
  const made = firstKeys.get(context) ?? makeKeys(algorithms).finally(() => firstKeys.delete(context))
  firstKeys.set(context, made)
  return made
}

interface NeededKey {
  readonly algorithm: SigningAlgorithm
  readonly at: number
  readonly made?: NewKeys
}

/** The current key for an algorithm. Stores one if there is none, or if a moved state cannot decrypt it. */
export async function ensureKey(tx: Writer, { algorithm, at, made }: NeededKey, context: KeyContext) {
  const current = (await allKeys(tx)).find((row) => row.retired_at === null && algorithmOf(row) === algorithm)
  const known = current && (await openKey(current, context))
  if (known) return { kid: current.id, privateJwk: known }
  const privateJwk = made?.get(algorithm) ?? (await makeKey(algorithm))
  return { kid: await replaceKey(tx, { algorithm, at, privateJwk }, context), privateJwk }
}

/** Has new keys sign from now on. The old ones stay published for a day. */
export async function rotateKeys(tx: Writer, made: NewKeys, at: number, context: KeyContext): Promise<void> {
  for (const [algorithm, privateJwk] of made) await replaceKey(tx, { algorithm, at, privateJwk }, context)
}

type Replacing = Omit<NeededKey, 'made'> & { readonly privateJwk: JWK }

/** Returns the id of the new key. */
async function replaceKey(tx: Writer, { algorithm, at, privateJwk }: Replacing, { keys }: KeyContext): Promise<string> {
  for (const old of await allKeys(tx))
    if (old.retired_at === null && algorithmOf(old) === algorithm) tx.put(oidcKeys, { ...old, retired_at: at })
  const id = await calculateJwkThumbprint(privateJwk)
  const sealed = await keys.seal(JSON.stringify(privateJwk), sealedFieldOf(id))
  tx.put(oidcKeys, { id, public_jwk: publicHalf(privateJwk), sealed, created_at: at, retired_at: null })
  return id
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
  const { kid, privateJwk } = await ensureKey(tx, { algorithm, at }, context)
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
