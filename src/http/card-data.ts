import { problem } from '../problem.js'

/**
 * Refuses fields that hold a card number, however deep: it is to be neither stored nor logged.
 * Throws `card_data_refused`, which says nothing of the number.
 */
export function checkNoCardData(fields: unknown): void {
  if (isCardNumber(fields)) throw problem('card_data_refused')
  if (typeof fields === 'object' && fields !== null) for (const part of Object.values(fields)) checkNoCardData(part)
}

function isCardNumber(value: unknown): boolean {
  if (typeof value !== 'string' && !Number.isInteger(value)) return false
  const digits = String(value).replace(/[\s-]/g, '')
  return /^\d{13,19}$/.test(digits) && isLuhn(digits)
}

/** Every second digit counts twice, from the one before the last on, less nine where that has two digits (ISO/IEC 7812-1). */
function isLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((sum, digit, place) => {
    const counted = Number(digit) * (place % 2 === 0 ? 1 : 2)
    return sum + (counted > 9 ? counted - 9 : counted)
  }, 0)
  return sum % 10 === 0
}
