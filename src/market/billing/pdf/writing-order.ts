/** A character as it is printed. Arabic letters have a character for each joined shape. */
export interface Sign {
  readonly shown: string
  readonly text: string
}

/** The shapes of each letter or ligature: isolated, final, initial, medial. One with two joins only to the one before. */
type Shapes = ReadonlyMap<string, readonly string[]>

/** Presentation forms (Unicode 16, section 9.2) in this order. */
const BLOCKS = [
  [0xfe80, 0xfefc],
  [0xfb50, 0xfbb1],
  [0xfbd3, 0xfbe7],
  [0xfbfc, 0xfbff],
] as const

let known: Shapes | undefined

function shapesByText(): Shapes {
  if (known) return known
  const shapes = new Map<string, string[]>()
  for (const [first, last] of BLOCKS)
    for (let code = first; code <= last; code++) {
      const shape = String.fromCharCode(code)
      const text = shape.normalize('NFKC')
      shapes.set(text, [...(shapes.get(text) ?? []), shape])
    }
  return (known = shapes)
}

/** Joins on both sides without changing its shape. */
const STRETCH = 'ـ'
const ARABIC = /\p{Script=Arabic}/u

/** Returns the signs of a text in reading order. Arabic letters have the shapes that their neighbours require. */
export function joined(text: string): Sign[] {
  if (!ARABIC.test(text)) return [...text].map((shown) => ({ shown, text: shown }))
  const shapes = shapesByText()
  const letters = paired([...text], shapes)
  const joinsNext = (letter = '') => letter === STRETCH || shapes.get(letter)?.length === 4
  const joinsPrevious = (letter = '') => letter === STRETCH || (shapes.get(letter)?.length ?? 0) > 1
  return letters.map((letter, n) => {
    const after = joinsNext(letters[n - 1]) && joinsPrevious(letter)
    const before = joinsNext(letter) && joinsPrevious(letters[n + 1])
    const shown = shapes.get(letter)?.[(before ? 2 : 0) + (after ? 1 : 0)] ?? letter
    // Programs that extract the text reverse it, so the letters of a ligature need their own order.
    return { shown, text: letter.length > 1 ? shown : letter }
  })
}

function paired(characters: readonly string[], shapes: Shapes): string[] {
  const letters: string[] = []
  for (const character of characters) {
    const pair = `${letters.at(-1) ?? ''}${character}`
    if (pair.length === 2 && shapes.has(pair)) letters[letters.length - 1] = pair
    else letters.push(character)
  }
  return letters
}

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u
const LETTER = /\p{L}/u
const DIGIT = /\p{Nd}/u
const SEPARATOR = /[.,:/+-]/

/** Direction of a sign. `number` is written left to right in every direction. */
type Direction = 'left' | 'right' | 'number' | 'neutral'

/** Each mirrors its neighbour. */
const BRACKETS = '()[]{}<>«»'

/**
 * Orders the signs of one line from left to right by the Unicode Bidirectional Algorithm (UAX 9), for text without
 * directional marks: the first letter sets the direction of the line, numbers stay whole, and neutral signs follow
 * their neighbours or the line.
 */
export function inWritingOrder(signs: readonly Sign[]): Sign[] {
  if (!signs.some(({ text }) => RIGHT_TO_LEFT.test(text))) return [...signs]
  const ways = waysOf(signs)
  const base = ways.find((way) => way === 'left' || way === 'right') === 'right' ? 1 : 0
  const levels = levelsOf(ways, base)
  const line = signs.map((sign, n) => {
    const place = BRACKETS.indexOf(sign.shown)
    if (levels[n] !== 1 || place < 0) return sign
    const mirrored = BRACKETS.charAt(place ^ 1)
    return { shown: mirrored, text: mirrored }
  })
  for (let level = 2; level > 0; level--) reverseRuns(line, levels, level)
  return line
}

function waysOf(signs: readonly Sign[]): Direction[] {
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

function reverseRuns(line: Sign[], levels: number[], level: number): void {
  for (let start = 0; start < line.length; start++) {
    let end = start
    while (end < line.length && (levels[end] ?? 0) >= level) end++
    if (end === start) continue
    line.splice(start, end - start, ...line.slice(start, end).reverse())
    levels.splice(start, end - start, ...levels.slice(start, end).reverse())
    start = end
  }
}
