/** A character as it is printed. Arabic letters have a character for each joined shape. */
export interface ArabicSign {
  readonly shown: string
  readonly text: string
}

/** Shapes of a letter: isolated, final, initial, medial. A letter with two shapes joins only to the one before. */
type Shapes = readonly string[]

/** Presentation forms (Unicode 16, section 9.2) in this order for each letter or ligature. */
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

/** Joins on both sides without changing its shape. */
const STRETCH = 'ـ'
const ARABIC = /\p{Script=Arabic}/u

/** Returns the signs of a text in reading order. Arabic letters have the shapes that their neighbours require. */
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
    // Programs that extract the text reverse it, so the letters of a ligature need their own order.
    return { shown, text: letter.length > 1 ? shown : letter }
  })
}

/** Joins lam and alef into one ligature. */
function paired(characters: readonly string[], shapes: ReadonlyMap<string, Shapes>): string[] {
  const letters: string[] = []
  for (const character of characters) {
    const pair = `${letters.at(-1) ?? ''}${character}`
    if (pair.length === 2 && shapes.has(pair)) letters[letters.length - 1] = pair
    else letters.push(character)
  }
  return letters
}
