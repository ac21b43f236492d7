import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { bytesOf } from '../../base/encoding.js'
import type { Random } from '../../base/ports.js'
import { base64Of, newSigningKey, PRIVATE_KEY, publicKeyIn, signEd25519 } from './ed25519.js'

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
export const signatureKindOf = (secret: string): SignatureKind | null => {
  if (secret === '') return null
  return secret.startsWith(PRIVATE_KEY) ? 'ed25519' : 'hmac-sha256'
}

/** The public key of a webhook that signs with Ed25519. Null for others. */
export const publicKeyOf = (secret: string): string | null =>
  signatureKindOf(secret) === 'ed25519' ? publicKeyIn(secret) : null

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
