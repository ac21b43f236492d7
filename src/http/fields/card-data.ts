import { problem } from '../../base/problem.js'

/**
 * Refuses fields with a card number in them, however deep and wherever in a text: it is to be neither stored nor logged. One rule for
 * whatever takes a payment method, or what an account says of itself.
 * Throws `card_data_refused`, which says nothing of the number.
 */
export function checkNoCardData(fields: unknown): void {
  if (holdsCardNumber(fields)) throw problem('card_data_refused')
  if (typeof fields === 'object' && fields !== null) for (const part of Object.values(fields)) checkNoCardData(part)
}

/** Groups of digits that nothing but spaces and hyphens parts: not the digits of a word, such as `pm_1`. */
const RUN = /(?<![\p{L}\d_])\d+(?:[\s-]+\d+)*(?![\p{L}\d_])/gu

function holdsCardNumber(value: unknown): boolean {
  if (typeof value !== 'string' && !Number.isInteger(value)) return false
  return (String(value).match(RUN) ?? []).some((run) => anyTogether(run.split(/[\s-]+/)))
}

const MOST_DIGITS = 19

/** Whether groups that follow each other make a card number. */
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

/** How cards begin, by how many digits they have: other numbers, such as a French business's SIRET, keep Luhn's rule too. */
const CARD = /^(?:4\d{12}|3[0689]\d{12}|(?:3[47]|1[38]|21)\d{13}|[2-6]\d{15,18})$/

const isCardNumber = (digits: string): boolean => CARD.test(digits) && isLuhn(digits)

/** Every second digit counts twice, from the one before the last on, less nine where that has two digits (ISO/IEC 7812-1). */
function isLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((sum, digit, place) => {
    const counted = Number(digit) * (place % 2 === 0 ? 1 : 2)
    return sum + (counted > 9 ? counted - 9 : counted)
  }, 0)
  return sum % 10 === 0
}
