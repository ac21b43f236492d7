import { problem } from '../../base/problem.js'

/** Refuses a card number anywhere in fields, so that it is neither stored nor logged. Throws `card_data_refused`, without it. */
export function checkNoCardData(fields: unknown): void {
  if (holdsCardNumber(fields)) throw problem('card_data_refused')
  if (typeof fields === 'object' && fields !== null) for (const part of Object.values(fields)) checkNoCardData(part)
}

/** The text with `mask` in the place of each row of digits that holds a card number. */
export function hideCardNumbers(text: string, mask: string): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end } of cardRows(text)) {
    parts.push(text.slice(from, start), mask)
    from = end
  }
  return from === 0 ? text : parts.join('') + text.slice(from)
}

function holdsCardNumber(value: unknown): boolean {
  if (typeof value !== 'string' && !Number.isInteger(value)) return false
  return !cardRows(String(value)).next().done
}

/** Groups of digits, separated only by spaces and hyphens. A group in a word, such as `pm_1`, does not count. */
interface Row {
  readonly start: number
  readonly end: number
}

/** Finds the rows in which adjacent groups form a card number. Its steps grow as the text does. */
function* cardRows(text: string): Generator<Row> {
  for (let at = 0; at < text.length; ) {
    if (isDigit(text.charCodeAt(at))) {
      const { start, end, holdsCard, next } = readRow(text, at)
      if (holdsCard) yield { start, end }
      at = next
    } else at++
  }
}

interface ReadRow extends Row {
  readonly holdsCard: boolean
  readonly next: number
}

function readRow(text: string, start: number): ReadRow {
  const last: LastDigit[] = []
  let end = start
  let holdsCard = false
  for (let at = start; ; ) {
    const after = endOf(text, at, isDigit)
    const isInWord = isLetter(text, after) || (at === start && endsInLetter(text, at))
    if (isInWord) return { start, end, holdsCard, next: after }
    takeGroup(last, text, at, after)
    holdsCard ||= endsWithCard(last)
    end = after
    const next = endOf(text, after, isGap)
    if (next === after || !isDigit(text.charCodeAt(next))) return { start, end, holdsCard, next }
    at = next
  }
}

function endOf(text: string, start: number, isOf: (char: number) => boolean): number {
  let end = start
  while (end < text.length && isOf(text.charCodeAt(end))) end++
  return end
}

const isDigit = (char: number): boolean => char >= 48 && char <= 57

const isGap = (char: number): boolean =>
  char === 45 || char === 32 || (char >= 9 && char <= 13) || (char >= 128 && /\s/.test(String.fromCharCode(char)))

/** Whether a letter begins here. Each of most texts is one unit, and needs no expression. */
function isLetter(text: string, at: number): boolean {
  const char = text.charCodeAt(at)
  if (char < 128) return isAsciiLetter(char)
  return at < text.length && /[\p{L}_]/u.test(String.fromCodePoint(text.codePointAt(at) ?? 0))
}

/** Whether a letter ends here. It may be half of a pair. */
function endsInLetter(text: string, at: number): boolean {
  const char = text.charCodeAt(at - 1)
  if (char < 128) return isAsciiLetter(char)
  return /[\p{L}_]$/u.test(text.slice(Math.max(0, at - 2), at))
}

const isAsciiLetter = (char: number): boolean =>
  (char >= 97 && char <= 122) || (char >= 65 && char <= 90) || char === 95

const SHORTEST = 13
const LONGEST_CARD_NUMBER = 19

interface LastDigit {
  readonly digit: number
  readonly beginsGroup: boolean
}

/** Adds a group to the last digits of a row, and keeps as many as a card number may have. */
function takeGroup(last: LastDigit[], text: string, start: number, end: number): void {
  // A longer group is in no card number, and none goes across it.
  if (end - start > LONGEST_CARD_NUMBER) last.length = 0
  else for (let at = start; at < end; at++) last.push({ digit: text.charCodeAt(at) - 48, beginsGroup: at === start })
  if (last.length > LONGEST_CARD_NUMBER) last.splice(0, last.length - LONGEST_CARD_NUMBER)
}

/** Whether a card number ends with the last digit (Luhn check, ISO/IEC 7812-1). */
function endsWithCard(last: readonly LastDigit[]): boolean {
  let sum = 0
  for (let length = 1; length <= last.length; length++) {
    const from = last.length - length
    const { digit = 0, beginsGroup = false } = last[from] ?? {}
    const counted = length % 2 === 0 ? 2 * digit : digit
    sum += counted > 9 ? counted - 9 : counted
    if (beginsGroup && sum % 10 === 0 && beginsCard(digit, last[from + 1]?.digit ?? 0, length)) return true
  }
  return false
}

/** Whether card numbers of a length begin so. Other numbers, such as French SIRET numbers, pass the Luhn check too. */
function beginsCard(first: number, second: number, length: number): boolean {
  if (length < SHORTEST) return false
  if (length === 13) return first === 4
  if (length === 14) return first === 3 && [0, 6, 8, 9].includes(second)
  if (length === 15) return FIFTEEN.has(10 * first + second)
  return first >= 2 && first <= 6
}

const FIFTEEN: ReadonlySet<number> = new Set([34, 37, 13, 18, 21])
