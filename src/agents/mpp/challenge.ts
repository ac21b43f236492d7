import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { base64url, bytesOf, canonicalJson, type Keyring, sameSecret } from '../../base/secrets.js'

/** Offers of the HTTP authentication scheme `Payment` (MPP). Their ids are bound to all that they say, and nothing is stored. */

/** The fields of a challenge. `request` and `opaque` are JSON in base64url. */
export interface Challenge {
  readonly id: string
  readonly realm: string
  readonly method: string
  readonly intent: string
  readonly request: string
  /** RFC 3339. */
  readonly expires: string
  /** Of the request's body, as `sha-256=` and base64. Absent if it has none. */
  readonly digest?: string | undefined
  readonly opaque?: string | undefined
}

const bound = ['realm', 'method', 'intent', 'request', 'expires', 'digest', 'opaque'] as const

type Keys = Pick<Keyring, 'derive'>

/** Nobody without the service's key makes an id, so what comes back under it is what was offered. */
function idOf(challenge: Omit<Challenge, 'id'>, keys: Keys): string {
  const said = JSON.stringify(bound.map((name) => challenge[name] ?? null))
  // A key remembers what is derived from it, and challenges are many.
  return base64url(hmac(sha256, keys.derive('mpp challenge', 1), utf8ToBytes(said)))
}

export const newChallenge = (challenge: Omit<Challenge, 'id'>, keys: Keys): Challenge => ({
  id: idOf(challenge, keys),
  ...challenge,
})

export const isGenuine = (challenge: Challenge, keys: Keys): boolean => sameSecret(challenge.id, idOf(challenge, keys))

/** The value of `WWW-Authenticate`. No field holds a quote or a backslash. */
export function challengeHeader(challenge: Challenge): string {
  const fields = ['id', ...bound] as const
  return `Payment ${fields.flatMap((name) => (challenge[name] === undefined ? [] : [`${name}="${challenge[name]}"`])).join(', ')}`
}

export const encodeJson = (value: object): string => base64url(new TextEncoder().encode(canonicalJson(value)))

/** The JSON in a text of base64url. Undefined if it is none. */
export function decodeJson(text: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(text)))
  } catch {
    return undefined
  }
}

/** The digest of a body (RFC 9530). */
export const bodyDigest = (body: Uint8Array): string => `sha-256=${btoa(String.fromCharCode(...sha256(body)))}`
