/** What stands on paper for some text: one character. Joined Arabic letters have characters of their own for each shape. */
export interface ArabicSign {
  readonly shown: string
  readonly text: string
}

/** The shapes of a letter: alone, after one that joins, before one, between two. Two shapes: it joins to the one before only. */
type Shapes = readonly string[]

/** The presentation forms (Unicode 16, 9.2) come in that order for each letter, or pair of letters. */
const BLOCKS = [
  [0xfe80, 0xfefc],
  [0xfb50, 0xfbb1],
  [0xfbd3, 0xfbe7],
  [0xfbfc, 0xfbff],
] as const

let known: ReadonlyMap<string, Shapes> | undefined

function shapesByText(): ReadonlyMap<string, Shapes> {
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

/** Joins to both sides, and keeps its shape. */
const STRETCH = 'ـ'
const ARABIC = /\p{Script=Arabic}/u

/** Text as signs, in the order in which it is read: Arabic letters in the shapes that their neighbours give them, others as they are. */
export function joined(text: string): ArabicSign[] {
  if (!ARABIC.test(text)) return [...text].map((shown) => ({ shown, text: shown }))
  const shapes = shapesByText()
  const letters = paired([...text], shapes)
  const joinsNext = (letter = '') => letter === STRETCH || shapes.get(letter)?.length === 4
  const joinsPrevious = (letter = '') => letter === STRETCH || (shapes.get(letter)?.length ?? 0) > 1
  return letters.map((letter, n) => {
    const after = joinsNext(letters[n - 1]) && joinsPrevious(letter)
    const before = joinsNext(letter) && joinsPrevious(letters[n + 1])
    const shown = shapes.get(letter)?.[(before ? 2 : 0) + (after ? 1 : 0)] ?? letter
    // Programs read a line of these from its end: a pair that is one character stays in its own order.
    return { shown, text: letter.length > 1 ? shown : letter }
  })
}

/** Lam and alef are written as one. */
function paired(characters: readonly string[], shapes: ReadonlyMap<string, Shapes>): string[] {
  const letters: string[] = []
  for (const character of characters) {
    const pair = `${letters.at(-1) ?? ''}${character}`
    if (pair.length === 2 && shapes.has(pair)) letters[letters.length - 1] = pair
    else letters.push(character)
  }
  return letters
}
