const ascii = new TextDecoder()
const codes = (alphabet: string) => new TextEncoder().encode(alphabet)

const HEX = codes('0123456789abcdef')
const BASE64URL = codes('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')

/** Bytes in memory of their own, as bodies take them. `Uint8Array` takes no argument before TypeScript 5.7, so none is named here. */
export type OwnBytes = ReturnType<Uint8Array['slice']>

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
