import { problem } from '../../base/problem.js'

/** Refuses a card number anywhere in fields, so that it is neither stored nor logged. Throws `card_data_refused`, without it. */
export function checkNoCardData(fields: unknown): void {
  if (holdsCardNumber(fields)) throw problem('card_data_refused')
  if (typeof fields === 'object' && fields !== null) for (const part of Object.values(fields)) checkNoCardData(part)
}

const holdsCardNumber = (value: unknown): boolean =>
  (typeof value === 'string' || Number.isInteger(value)) && String(value).match(ROWS)?.some(holdsCard) === true

/** The text with `mask` in the place of each row of digits that holds a card number. */
export const hideCardNumbers = (text: string, mask: string): string =>
  text.replace(ROWS, (row) => (holdsCard(row) ? mask : row))

/** Groups of digits, separated only by spaces and hyphens. A group in a word, such as `pm_1`, does not count. */
const ROWS = /(?<![\p{L}_\d])\d+(?![\p{L}_\d])(?:[\s-]+\d+(?![\p{L}_\d]))*/gu
const SHORTEST = 13
const LONGEST_CARD_NUMBER = 19

/** Whether adjacent groups of a row form a card number. A long text may hold many, so it runs no expression for each. */
function holdsCard(row: string): boolean {
  if (row.length < SHORTEST) return false
  const groups: string[] = []
  for (let at = 0; at < row.length; at++) {
    const start = at
    while (isDigit(row[at])) at++
    if (at > start) groups.push(row.slice(start, at))
  }
  return groups.some((_, last) => {
    let digits = ''
    for (let first = last; first >= 0 && digits.length <= LONGEST_CARD_NUMBER; first--) {
      digits = groups[first] + digits
      if (beginsCard(digits) && passesCheck(digits)) return true
    }
    return false
  })
}

const isDigit = (character = ''): boolean => character >= '0' && character <= '9'

/** Whether card numbers of this length begin so. Other numbers, such as French SIRET numbers, pass the Luhn check too. */
function beginsCard(digits: string): boolean {
  const { length } = digits
  if (length < SHORTEST || length > LONGEST_CARD_NUMBER) return false
  const begin = Number(digits.slice(0, 2))
  if (length === 13) return begin >= 40 && begin < 50
  if (length === 14) return [30, 36, 38, 39].includes(begin)
  return length === 15 ? [34, 37, 13, 18, 21].includes(begin) : begin >= 20 && begin < 70
}

/** The Luhn check (ISO/IEC 7812-1). */
function passesCheck(digits: string): boolean {
  let sum = 0
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits.at(-1 - place))
    const counted = place % 2 === 1 ? 2 * digit : digit
    sum += counted > 9 ? counted - 9 : counted
  }
  return sum % 10 === 0
}
