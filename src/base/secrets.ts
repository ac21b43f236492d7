import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import canonicalize from 'canonicalize'
import { memoize } from './memo.js'
import type { Random } from './ports.js'
import { HIDDEN_KEY } from './text/redacted.js'

const ascii = new TextDecoder()
const codes = (alphabet: string) => new TextEncoder().encode(alphabet)

const HEX = codes('0123456789abcdef')
const BASE64URL = codes('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')

/** Bytes as lower-case hex. Builds one flat string, because engines store a concatenated one as a slower rope. */
export function hexOf(bytes: Uint8Array): string {
  const text = new Uint8Array(bytes.length * 2)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0
    text[2 * i] = HEX[byte >> 4] ?? 0
    text[2 * i + 1] = HEX[byte & 15] ?? 0
  }
  return ascii.decode(text)
}

/** Bytes as base64url without padding (RFC 4648 section 5). */
export function base64url(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil((bytes.length * 4) / 3))
  let at = 0
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    bits = (bits << 8) | byte
    for (held += 8; held >= 6; held -= 6) text[at++] = BASE64URL[(bits >> (held - 6)) & 63] ?? 0
  }
  if (held > 0) text[at] = BASE64URL[(bits << (6 - held)) & 63] ?? 0
  return ascii.decode(text)
}

/** The bytes that `base64url` wrote. */
export const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))

type NativeHash = (algorithm: 'sha256', text: string, encoding: 'hex') => string

/** What Node and runtimes like it offer without an import. */
declare const process: { getBuiltinModule?(name: 'crypto'): { readonly hash?: NativeHash } | undefined } | undefined

// An eighth of the cost of SHA-256 in JavaScript, which every other runtime has.
const nativeHash = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('crypto')?.hash

/** SHA-256 of a secret, in hex. It is stored in place of a secret that is never shown again. */
export const digest: (secret: string) => string = nativeHash
  ? (secret) => nativeHash('sha256', secret, 'hex')
  : (secret) => hexOf(sha256(utf8ToBytes(secret)))

/** Compares two strings in time that depends only on their lengths. */
export function sameSecret(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % (b.length || 1))
  return difference === 0
}

/** `length` random bytes in hex. */
export const randomHex = (random: Random, length: number): string => hexOf(random.bytes(length))

export function uuidFrom(bytes: Uint8Array): string {
  const own = bytes.slice(0, 16)
  own[6] = ((own[6] ?? 0) & 0x0f) | 0x40
  own[8] = ((own[8] ?? 0) & 0x3f) | 0x80
  const hex = hexOf(own)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The service's key. It derives secrets that are shown more than once, and encrypts what must be read back. */
export interface Keyring {
  /** HMAC-SHA-256 over purpose and id: always the same bytes. */
  derive(purpose: string, id: string | number): Uint8Array
  /** The same bytes as `derive`, as a UUID. */
  deriveUuid(purpose: string, id: string | number): string
  /** AES-256-GCM; `context` (record and field) is authenticated with it. */
  seal(plain: string, context: string): Promise<string>
  /** The plain text. Undefined if it was sealed under another key or context. */
  open(sealed: string, context: string): Promise<string | undefined>
}

/** `key`: 32 bytes, as bytes or 64 hex digits. */
export function keyring(key: Uint8Array | string, random: Random): Keyring {
  const bytes = typeof key === 'string' ? hexToBytes(key) : key
  if (bytes.length !== 32) throw new TypeError('encryptionKey must be 32 bytes: a Uint8Array or 64 hex digits')
  const deriving = hmac(sha256, bytes, utf8ToBytes('farthing/derive'))
  const started = hmac.create(sha256, deriving)
  // Every read of a twin shows its key, so derived keys are remembered.
  const derive = memoize((name) => started.clone().update(utf8ToBytes(name)).digest(), 1 << 20)
  const deriveUuid = memoize((name) => uuidFrom(derive(name)), 1 << 20)
  let sealing: Promise<CryptoKey> | undefined
  const sealingKey = () => {
    sealing ??= crypto.subtle.importKey('raw', hmac(sha256, bytes, utf8ToBytes('farthing/seal')), 'AES-GCM', false, [
      'encrypt',
      'decrypt',
    ])
    return sealing
  }
  return {
    derive: (purpose, id) => derive(`${purpose}:${id}`),
    deriveUuid: (purpose, id) => deriveUuid(`${purpose}:${id}`),
    async seal(plain, context) {
      const iv = Uint8Array.from(random.bytes(12))
      const params = { name: 'AES-GCM', iv: iv, additionalData: utf8ToBytes(context) }
      const sealed = await crypto.subtle.encrypt(params, await sealingKey(), utf8ToBytes(plain))
      return `${hexOf(iv)}.${hexOf(new Uint8Array(sealed))}`
    },
    async open(sealed, context) {
      const [iv, text] = sealed.split('.')
      if (!iv || !text) return undefined
      try {
        const params = { name: 'AES-GCM', iv: hexToBytes(iv), additionalData: utf8ToBytes(context) }
        const plain = await crypto.subtle.decrypt(params, await sealingKey(), hexToBytes(text))
        return new TextDecoder().decode(plain)
      } catch {
        return undefined
      }
    },
  }
}

/** Throws an Error without `crypto.subtle`, which browsers have only in secure contexts, and jsdom never. The first write needs it. */
export function checkWebCrypto(): void {
  if (globalThis.crypto?.subtle) return
  throw new Error(
    'A service needs WebCrypto, but crypto.subtle is missing here. In a browser, open the page over https or from localhost. In Jest with jsdom, give the environment Node\'s crypto, as the guide "Test a front end with MSW" shows.',
  )
}

/** Canonical JSON (RFC 8785): equal values have equal text. `undefined` becomes the empty string. */
export const canonicalJson = (value: unknown): string => canonicalize(value) ?? ''

/** The hash of a value's canonical JSON: `41`, the code for SHA-256, and 64 hex digits. */
export const contentHash = (identified: object): string => `41${digest(canonicalJson(identified))}`

/** What stands for a value that is not shown: equal ones are seen to be equal, and nothing else. */
export const hiddenKey = (value: string): string => HIDDEN_KEY + digest(value).slice(0, 32)
