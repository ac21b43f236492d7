import type { ArabicSign } from './arabic.js'

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u
const LETTER = /\p{L}/u
const DIGIT = /\p{Nd}/u
/** Part of a number if it is between two digits. */
const SEPARATOR = /[.,:/+-]/

/** Direction of a sign. `number` is written left to right in every direction. */
type Direction = 'left' | 'right' | 'number' | 'neutral'

const MIRRORED: Readonly<Record<string, string>> = {
  '(': ')',
  ')': '(',
  '[': ']',
  ']': '[',
  '{': '}',
  '}': '{',
  '<': '>',
  '>': '<',
  '«': '»',
  '»': '«',
}

/**
 * Orders the signs of one line from left to right by the Unicode Bidirectional Algorithm (UAX 9), for text without
 * directional marks: the first letter sets the direction of the line, numbers stay whole, and neutral signs follow
 * their neighbours or the line.
 */
export function inWritingOrder(signs: readonly ArabicSign[]): ArabicSign[] {
  if (!signs.some(({ text }) => RIGHT_TO_LEFT.test(text))) return [...signs]
  const ways = waysOf(signs)
  const base = ways.find((way) => way === 'left' || way === 'right') === 'right' ? 1 : 0
  const levels = levelsOf(ways, base)
  const line = signs.map((sign, n) => {
    const mirrored = isOdd(levels[n]) ? MIRRORED[sign.shown] : undefined
    return mirrored === undefined ? sign : { shown: mirrored, text: mirrored }
  })
  for (let level = 2; level > 0; level--) reverseRuns(line, levels, level)
  return line
}

const isOdd = (level = 0): boolean => level % 2 === 1

function waysOf(signs: readonly ArabicSign[]): Direction[] {
  const ways = signs.map(({ text }): Direction => {
    if (DIGIT.test(text)) return 'number'
    if (RIGHT_TO_LEFT.test(text)) return 'right'
    return LETTER.test(text) ? 'left' : 'neutral'
  })
  signs.forEach(({ text }, n) => {
    if (SEPARATOR.test(text) && ways[n - 1] === 'number' && ways[n + 1] === 'number') ways[n] = 'number'
  })
  return ways
}

function levelsOf(ways: readonly Direction[], base: 0 | 1): number[] {
  const line = base === 1 ? 'right' : 'left'
  // A number after left-to-right letters belongs to them. After others it stays a number.
  let last: Direction = line
  const strong = ways.map((way) => {
    if (way === 'left' || way === 'right') last = way
    return way === 'number' && last === 'left' ? 'left' : way
  })
  const sideOf = (way: Direction | undefined) => (way === undefined ? line : way === 'number' ? 'right' : way)
  return strong.map((way, n) => {
    if (way === 'number') return 2
    const before = strong.slice(0, n).findLast((each) => each !== 'neutral')
    const after = strong.slice(n + 1).find((each) => each !== 'neutral')
    const own = way === 'neutral' ? (sideOf(before) === sideOf(after) ? sideOf(before) : line) : way
    if (own === 'right') return 1
    return base === 1 ? 2 : 0
  })
}

/** Reverses each run of this level and above, with the levels. */
function reverseRuns(line: ArabicSign[], levels: number[], level: number): void {
  for (let start = 0; start < line.length; start++) {
    let end = start
    while (end < line.length && (levels[end] ?? 0) >= level) end++
    if (end === start) continue
    line.splice(start, end - start, ...line.slice(start, end).reverse())
    levels.splice(start, end - start, ...levels.slice(start, end).reverse())
    start = end
  }
}
