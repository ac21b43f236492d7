import type { Key } from '../../../../src/storage/storage.js'

/**
 * A key as bytes, in hexadecimal digits. Encoded keys, and the bytes that they stand for, are in the order of the keys:
 * numbers by value, then strings by UTF-16 code unit, and a key before its extensions.
 */
export type EncodedKey = string

// Each part begins with what it is.
const NUMBER = '01'
const STRING = '02'
/** No part begins with a byte from this on. */
export const PAST_PARTS = '03'
/** Ends a string. The code unit 0 is `ESCAPED`, so a string comes before its extensions. */
const END = '00'
const ESCAPED = '00ff'

/** Encodes a key, or the start of one. */
export const encodeKey = (parts: readonly Key[]): EncodedKey => parts.map(encodePart).join('')

/** The first place past all keys that begin with these parts. */
export const pastKeys = (parts: readonly Key[]): EncodedKey => encodeKey(parts) + PAST_PARTS

/** The first place after a key. */
export const justAfter = (parts: readonly Key[]): EncodedKey => `${encodeKey(parts)}00`

const encodePart = (part: Key): EncodedKey =>
  typeof part === 'number' ? NUMBER + encodeNumber(part) : STRING + encodeString(part) + END

const bits = new DataView(new ArrayBuffer(8))

/** The bits of a double are in the order of positive numbers. Those of negative ones are in reverse. */
function encodeNumber(number: number): EncodedKey {
  bits.setFloat64(0, number + 0) // -0 is the same key as 0.
  const [high, low] = [bits.getUint32(0), bits.getUint32(4)]
  const isNegative = high >>> 31 === 1
  return hex32(isNegative ? ~high : high ^ 0x80000000) + hex32(isNegative ? ~low : low)
}

const hex32 = (word: number): string => (word >>> 0).toString(16).padStart(8, '0')

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are one byte each.
const ASCII = /^[\x01-\x7f]*$/

/**
 * Each code unit for itself in the pattern of UTF-8. UTF-8 of whole characters would put those beyond U+FFFF after
 * U+E000 to U+FFFF, and their code units are before these.
 */
function encodeString(text: string): EncodedKey {
  if (ASCII.test(text)) return Buffer.from(text, 'latin1').toString('hex')
  let encoded = ''
  for (let i = 0; i < text.length; i++) encoded += encodeUnit(text.charCodeAt(i))
  return encoded
}

function encodeUnit(unit: number): EncodedKey {
  if (unit === 0) return ESCAPED
  if (unit < 0x80) return unit.toString(16).padStart(2, '0')
  const last = 0x80 | (unit & 0x3f)
  if (unit < 0x800) return ((0xc0 | (unit >> 6)) * 0x100 + last).toString(16)
  return ((0xe0 | (unit >> 12)) * 0x10000 + (0x80 | ((unit >> 6) & 0x3f)) * 0x100 + last).toString(16)
}
