import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Random } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import { bytesOf } from '../../base/secrets.js'

/** What a stored private key begins with. The Base64 behind it is the seed and the public key, 32 bytes each. */
const PRIVATE_KEY = 'whsk_'
const PUBLIC_KEY = 'whpk_'
const SEED_BYTES = 32

/** A private key in PKCS #8 without its seed (RFC 8410 section 7). */
const PKCS8 = hexToBytes('302e020100300506032b657004220420')
const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** A new key pair for signatures of deliveries. Throws `field_invalid` where the runtime has no Ed25519. */
async function newSigningKey(random: Random): Promise<string> {
  const seed = Uint8Array.from(random.bytes(SEED_BYTES))
  try {
    const { x } = await crypto.subtle.exportKey('jwk', await privateKeyOf(seed, true))
    return `${PRIVATE_KEY}${base64Of(concatBytes(seed, bytesOf(x ?? '')))}`
  } catch (cause) {
    if (!(cause instanceof DOMException && cause.name === 'NotSupportedError')) throw cause
    throw problem('field_invalid', {
      detail: 'The runtime of this service has no Ed25519. "signature" must be "hmac-sha256".',
      fields: { field: 'signature' },
      cause,
    })
  }
}

/** Signs a text. Returns Base64. */
async function signEd25519(key: string, text: string): Promise<string> {
  const { seed } = keyParts(key)
  return base64Of(new Uint8Array(await crypto.subtle.sign('Ed25519', await privateKeyOf(seed), utf8ToBytes(text))))
}

function keyParts(key: string) {
  const bytes = bytesOf(key.slice(PRIVATE_KEY.length))
  return { seed: bytes.subarray(0, SEED_BYTES), publicKey: bytes.subarray(SEED_BYTES) }
}

const privateKeyOf = (seed: Uint8Array, isExtractable = false): Promise<CryptoKey> =>
  crypto.subtle.importKey('pkcs8', Uint8Array.from(concatBytes(PKCS8, seed)), 'Ed25519', isExtractable, ['sign'])

const PREFIX = 'whsec_'

/** How deliveries are signed: with a secret that the receiver knows too, or with a private key. */
export const signatureKinds = ['hmac-sha256', 'ed25519'] as const
export type SignatureKind = (typeof signatureKinds)[number]

/** A new secret of 32 random bytes. */
export const newWebhookSecret = (random: Random): string => `${PREFIX}${base64Of(random.bytes(32))}`

/** What a webhook of this kind signs with. Throws `field_invalid` where the runtime cannot make it. */
export const newSecretOf = async (kind: SignatureKind, random: Random): Promise<string> =>
  kind === 'ed25519' ? newSigningKey(random) : newWebhookSecret(random)

/** How a secret signs. Null if another key encrypted it. */
export const signatureKindOf = (secret: string): SignatureKind | null =>
  secret === '' ? null : secret.startsWith(PRIVATE_KEY) ? 'ed25519' : 'hmac-sha256'

/** The public key of a webhook that signs with Ed25519: `whpk_` and Base64. Null for others. */
export const publicKeyOf = (secret: string): string | null =>
  signatureKindOf(secret) === 'ed25519' ? `${PUBLIC_KEY}${base64Of(keyParts(secret).publicKey)}` : null

export interface SignedMessage {
  /** The same for every try. */
  readonly id: string
  /** When this try begins, in Unix seconds. */
  readonly timestamp: number
  readonly body: string
}

/** The three headers of Standard Webhooks. Each secret adds a signature: `v1` is HMAC-SHA-256, and `v1a` Ed25519. */
export async function signatureHeaders(secrets: readonly string[], { id, timestamp, body }: SignedMessage) {
  const text = `${id}.${timestamp}.${body}`
  const signatures = await Promise.all(
    secrets.map(async (secret) =>
      signatureKindOf(secret) === 'ed25519' ? `v1a,${await signEd25519(secret, text)}` : `v1,${signHmac(secret, text)}`,
    ),
  )
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') }
}

const signHmac = (secret: string, text: string): string =>
  base64Of(hmac(sha256, bytesOf(secret.slice(PREFIX.length)), utf8ToBytes(text)))
