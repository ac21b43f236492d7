import { ROW_DEPTH } from './state.js'
import type { Row } from './storage.js'

/** The largest number directly in a row: times are below, and what counts can go on counting. */
const LARGEST = 2 ** 52

/** An end that never comes. It is no number that counts. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** What no storage keeps as it is, or no service can go on from, in the values of a row. Undefined if all of it is sound. */
export function valueFault(row: Row): string | undefined {
  const { id } = row
  if (typeof id === 'number' && !(Number.isInteger(id) && id >= 0)) return 'its id is not a whole number from 0 up'
  for (const [field, value] of Object.entries(row)) {
    if (typeof value === 'number' && Math.abs(value) > LARGEST && !(field === 'until' && value === NEVER))
      return `its ${field} is too large a number`
    const what = partFault(value, 1)
    if (what !== undefined) return `its ${field} ${what}`
  }
  return undefined
}

function partFault(value: unknown, depth: number): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'holds a number that is too large'
  if (typeof value === 'string') return textFault(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === ROW_DEPTH) return `is nested deeper than ${ROW_DEPTH} levels`
  for (const [name, part] of Object.entries(value)) {
    const what = textFault(name) ?? partFault(part, depth + 1)
    if (what !== undefined) return what
  }
  return undefined
}

const textFault = (text: string): string | undefined =>
  text.isWellFormed() && !text.includes('\0') ? undefined : 'holds U+0000 or half of a surrogate pair'
