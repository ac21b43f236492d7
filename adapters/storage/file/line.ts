import { open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/**
 * The lines of the storage's files. Each is JSON and has a checksum of its own (CRC-32, eight hex digits) over the
 * rest of its text: an object has it as its last member, a list as its first.
 */

/** A line for an object, such as `{"collection":"twins","checksum":"a3830348"}`. It ends with a line break. */
export const objectLine = (object: object): string => textLine(JSON.stringify(object).slice(0, -1))

/** The same for the JSON of an object without its closing brace. */
export function textLine(open: string): string {
  return `${open}${CHECKSUM}${checksumOf(open)}"}\n`
}

/** A line for a list, such as `["352441c2",1,"a"]`. `list` is its JSON. It ends with a line break. */
export function listLine(list: string): string {
  const rest = list.slice(1)
  return `["${checksumOf(rest)}",${rest}\n`
}

/** A line that was read: its content, and its checksum. A list starts with the text of the checksum. */
export type Line =
  | { readonly object: Readonly<Record<string, unknown>>; readonly checksum: number }
  | { readonly list: readonly unknown[]; readonly checksum: number }

const CHECKSUM = ',"checksum":"'
/** `,"checksum":"xxxxxxxx"}` */
const OBJECT_END = CHECKSUM.length + 10
/** `["xxxxxxxx",` */
const LIST_START = 12
const OPENING_BRACKET = 91

/** Reads a line without its line break. Undefined if it is damaged. */
export function parseLine(bytes: Buffer): Line | undefined {
  const isList = bytes[0] === OPENING_BRACKET
  const end = Math.max(0, bytes.length - OBJECT_END)
  if (!isList && !isClosed(bytes, end)) return undefined
  const checksum = crc32(isList ? bytes.subarray(LIST_START) : bytes.subarray(0, end))
  if (checksum !== numberIn(bytes, isList ? 2 : bytes.length - 10)) return undefined
  try {
    const content: unknown = JSON.parse(bytes.toString())
    if (Array.isArray(content)) return { list: content, checksum }
    return typeof content === 'object' && content !== null ? { object: { ...content }, checksum } : undefined
  } catch {
    return undefined
  }
}

/** Whether the part of an object's line that its checksum does not cover is as it was written. */
const isClosed = (bytes: Buffer, end: number): boolean =>
  bytes.toString('latin1', end, end + CHECKSUM.length) === CHECKSUM &&
  bytes.toString('latin1', bytes.length - 2) === '"}'

/** The number that eight hex digits in lower case stand for. -1 if they are none. */
function numberIn(bytes: Buffer, start: number): number {
  let number = 0
  for (let at = start; at < start + 8; at++) {
    const code = bytes[at] ?? 0
    const digit = code >= 97 && code <= 102 ? code - 87 : code <= 57 ? code - 48 : -1
    if (digit < 0) return -1
    number = number * 16 + digit
  }
  return number
}

export const checksumOf = (text: string | Uint8Array): string => hexOf(crc32(text))

/** A checksum over the checksums of lines, which shows whether a line is missing, or in a different place. */
export class ChecksumOfLines {
  #sum = 0

  get value(): string {
    return hexOf(this.#sum)
  }

  add(checksum: number): void {
    this.#sum = (Math.imul(this.#sum, 31) + checksum) >>> 0
  }
}

/** Each pair of bytes as hex digits: many times as fast as writing the number. */
const HEX = Array.from({ length: 0x1_0000 }, (_, pair) => pair.toString(16).padStart(4, '0'))
const hexOf = (checksum: number): string => `${HEX[checksum >>> 16]}${HEX[checksum & 0xffff]}`

export interface ReadLine {
  readonly bytes: Buffer
  readonly number: number
  /** Where it ends in the file, in bytes, with its line break. */
  readonly end: number
  /** Whether a line break ends it. Only the last line may have none. */
  readonly isWhole: boolean
}

const SECTOR = 512
const EMPTY = 16

/** Whether the machine did not finish writing this line: its end is missing, or parts of sectors are empty. A wrong byte is damage. */
export function isTorn({ bytes, end, isWhole }: ReadLine): boolean {
  if (!isWhole) return true
  const start = end - bytes.length - 1
  for (let at = bytes.indexOf(0); at >= 0; ) {
    let after = at
    while (after < bytes.length && bytes[after] === 0) after++
    if (after - at >= EMPTY || (after - at > 1 && (start + after) % SECTOR === 0)) return true
    at = bytes.indexOf(0, after)
  }
  return false
}

const LONGEST_READ = 1 << 20
const SHORTEST_READ = 1 << 14

/** Reads a file line by line, in lists of those that each piece of the file holds. Throws like `open`. */
export async function* readLines(file: string): AsyncGenerator<readonly ReadLine[]> {
  const handle = await open(file, 'r')
  try {
    let rest: Buffer = Buffer.alloc(0)
    let number = 0
    let end = 0
    // A small file needs no large buffer. One that is no file, such as a pipe, has no size.
    const { size } = await handle.stat()
    const length = Math.min(Math.max(size + 1, SHORTEST_READ), LONGEST_READ)
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length)
      if (bytesRead === 0) break
      const piece = buffer.subarray(0, bytesRead)
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      const lines: ReadLine[] = []
      let start = 0
      for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, start)) {
        end += at + 1 - start
        lines.push({ bytes: bytes.subarray(start, at), number: ++number, end, isWhole: true })
        start = at + 1
      }
      rest = bytes.subarray(start)
      if (lines.length > 0) yield lines
    }
    if (rest.length > 0) yield [{ bytes: rest, number: number + 1, end: end + rest.length, isWhole: false }]
  } finally {
    await handle.close()
  }
}

/** The lines of a piece of a file, without their line breaks. What follows the last line break is no line. */
export function* linesIn(bytes: Buffer): Generator<Buffer> {
  let start = 0
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    yield bytes.subarray(start, end)
    start = end + 1
  }
}

const NEWLINE = 10
