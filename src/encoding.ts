const DIGITS = new TextEncoder().encode('0123456789abcdef')
const ascii = new TextDecoder()

/** Bytes as lower-case hex: one flat string, where one grown byte by byte would be kept, and walked, as a rope. */
export function hexOf(bytes: Uint8Array): string {
  const text = new Uint8Array(bytes.length * 2)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    text[2 * i] = DIGITS[byte >> 4] as number
    text[2 * i + 1] = DIGITS[byte & 15] as number
  }
  return ascii.decode(text)
}
