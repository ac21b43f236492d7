import { problem } from '../../base/problem.js'

/**
 * Refuses fields with a card number, at any depth and anywhere in a text, so that it is neither stored nor logged.
 * Routes for payment methods and account details use it. Throws `card_data_refused`, which does not contain the number.
 */
export function checkNoCardData(fields: unknown): void {
  if (holdsCardNumber(fields)) throw problem('card_data_refused')
  if (typeof fields === 'object' && fields !== null) for (const part of Object.values(fields)) checkNoCardData(part)
}

/** Groups of digits, separated only by spaces and hyphens. Digits of a word such as `pm_1` do not count. */
const RUN = /(?<![\p{L}\d_])\d+(?:[\s-]+\d+)*(?![\p{L}\d_])/gu

/** The text with `mask` in the place of each group of digits that holds a card number. */
export const hideCardNumbers = (text: string, mask: string): string =>
  CARD_LIKE.test(text) ? text.replace(RUN, (run) => (anyTogether(run.split(/[\s-]+/)) ? mask : run)) : text

/**
 * The first digits of a card number, and as many more as the shortest such number has. Most texts have none, and this is
 * faster than `RUN`.
 */
const CARD_LIKE =
  /4(?:[\s-]*\d){12}|3[\s-]*[0689](?:[\s-]*\d){12}|(?:3[\s-]*[47]|1[\s-]*[38]|2[\s-]*1)(?:[\s-]*\d){13}|[2-6](?:[\s-]*\d){15}/

function holdsCardNumber(value: unknown): boolean {
  if (typeof value !== 'string' && !Number.isInteger(value)) return false
  return (String(value).match(RUN) ?? []).some((run) => anyTogether(run.split(/[\s-]+/)))
}

const MOST_DIGITS = 19

/** Whether adjacent groups form a card number. */
function anyTogether(groups: readonly string[]): boolean {
  return groups.some((_, from) => {
    let digits = ''
    for (let next = from; next < groups.length && digits.length <= MOST_DIGITS; next++) {
      digits += groups[next]
      if (isCardNumber(digits)) return true
    }
    return false
  })
}

/**
 * The first digits of card numbers of each length. Other numbers, such as French SIRET numbers, pass the Luhn check
 * too.
 */
const CARD = /^(?:4\d{12}|3[0689]\d{12}|(?:3[47]|1[38]|21)\d{13}|[2-6]\d{15,18})$/

const isCardNumber = (digits: string): boolean => CARD.test(digits) && isLuhn(digits)

/** The Luhn check (ISO/IEC 7812-1). */
function isLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((sum, digit, place) => {
    const counted = Number(digit) * (place % 2 === 0 ? 1 : 2)
    return sum + (counted > 9 ? counted - 9 : counted)
  }, 0)
  return sum % 10 === 0
}
