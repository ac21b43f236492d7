import type { Parts } from '../../../base/parts.js'
import type { Fonts, Log } from '../../../base/ports.js'
import { Font } from './font.js'
import { fontsKey as packaged } from './part.js'

/** Characters of WinAnsiEncoding (ISO 32000-1, annex D), which the standard fonts of PDF have. */

/** Characters of the codes 128 to 159, which differ from ISO 8859-1. A space: no character. */
const HIGH = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'

/** Returns the code of a character, or undefined if the encoding lacks it. */
export function codeOf(character: string): number | undefined {
  const code = character.codePointAt(0)
  if (code === undefined) return undefined
  if (code < 32 || code === 127) return 32
  if (code < 127 || (code > 159 && code < 256)) return code
  return HIGH.includes(character) ? HIGH.indexOf(character) + 128 : undefined
}

/** Replaces a character that no font has: ğ by g, Greek and Cyrillic letters by Latin ones, invisible ones by nothing. */
export function latinOf(character: string): string {
  const bare = character.normalize('NFKD').replace(/[\p{M}\p{Cf}]/gu, '')
  return letterFor(character) ?? [...bare].map((each) => letterFor(each) ?? each).join('')
}

function letterFor(letter: string): string | undefined {
  const small = letter.toLowerCase()
  const latin = LATIN[letter] ?? LATIN[small]
  if (latin === undefined || small === letter) return latin
  return latin.charAt(0).toUpperCase() + latin.slice(1)
}

const LATIN: Readonly<Record<string, string>> = {
  ...pairs('đ:d ħ:h ı:i ł:l ŋ:n ŧ:t ə:e ẞ:SS −:- ‐:- ‑:- ‒:- ―:- №:No ₽:RUB ₴:UAH ₹:INR ₺:TRY ₩:KRW ₪:ILS'),
  ...pairs('α:a β:v γ:g δ:d ε:e ζ:z η:i θ:th ι:i κ:k λ:l μ:m ν:n ξ:x ο:o π:p ρ:r σ:s ς:s τ:t υ:y φ:f χ:ch ψ:ps ω:o'),
  ...pairs('а:a б:b в:v г:g д:d е:e ё:yo ж:zh з:z и:i й:y к:k л:l м:m н:n о:o п:p р:r с:s т:t у:u ф:f х:kh ц:ts ч:ch'),
  ...pairs('ш:sh щ:shch ъ:’ ы:y ь:’ э:e ю:yu я:ya є:ye і:i ї:yi ґ:g ў:u ђ:dj ј:j љ:lj њ:nj ћ:c џ:dz ѓ:g ќ:k ѕ:dz'),
}

function pairs(text: string): Record<string, string> {
  return Object.fromEntries(text.split(' ').map((pair) => [pair.charAt(0), pair.slice(2)]))
}

/** Widths of Helvetica's characters in thousandths of the size, from WinAnsi code 32 on. */
const REGULAR = `278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584 584 556
1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556
333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584 0
556 0 222 556 333 1000 556 556 333 1000 667 333 1000 0 611 0 0 222 222 333 333 350 556 1000 333 1000 500 333 944 0 500 667
278 333 556 556 556 556 260 556 333 737 370 556 584 333 737 333 400 584 333 333 333 556 537 278 333 333 365 556 834 834 834 611
667 667 667 667 667 667 1000 722 667 667 667 667 278 278 278 278 722 722 778 778 778 778 778 584 778 722 722 722 722 667 667 611
556 556 556 556 556 556 889 500 556 556 556 556 278 278 278 278 556 556 556 556 556 556 556 584 611 556 556 556 556 500 556 500`

const BOLD = `278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 584 584 584 611
975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 667 667 611 333 278 333 584 556
333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556 778 556 556 500 389 280 389 584 0
556 0 278 556 500 1000 556 556 333 1000 667 333 1000 0 611 0 0 278 278 500 500 350 556 1000 333 1000 556 333 944 0 500 667
278 333 556 556 556 556 280 556 333 737 370 556 584 333 737 333 400 584 333 333 333 611 556 278 333 333 365 556 834 834 834 611
722 722 722 722 722 722 1000 722 667 667 667 667 278 278 278 278 722 722 778 778 778 778 778 584 778 722 722 722 722 667 667 611
556 556 556 556 556 556 889 556 556 556 556 556 278 278 278 278 611 611 611 611 611 611 611 584 611 611 611 611 611 556 611 556`

const numbersIn = (text: string): number[] => text.split(/\s+/).map(Number)
const widths = { regular: numbersIn(REGULAR), bold: numbersIn(BOLD) }

export type Weight = keyof typeof widths

/** In thousandths of the size. */
export const widthOf = (codes: readonly number[], weight: Weight): number =>
  codes.reduce((width, code) => width + (widths[weight][code - 32] ?? 0), 0)

/** Replaces letters that no font has. */
export const MISSING = '[…]'

/** Scripts that need no shaping, or only that of `joined`. Indic scripts need more. */
const SETTABLE =
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Common}\p{Script=Inherited}]/u
const WORDLIKE = /[\p{L}\p{N}]/u

/** The most font files of the host that one document uses. Letters beyond them count as missing. */
const MAX_FILES = 40

/** Glyphs of one font in line order: WinAnsi codes of a standard font, or numbers in an embedded one. */
export interface GlyphRun {
  readonly font: 'standard' | Font
  readonly numbers: number[]
}

export interface SetText {
  readonly runs: readonly GlyphRun[]
  /** In thousandths of the size. */
  readonly width: number
  /** The original text, if some of it was replaced. */
  readonly actual: string | undefined
}

function standard(shown: string, weight: Weight) {
  const number = codeOf(shown) ?? 32
  return { font: 'standard', number, width: widthOf([number], weight) } as const
}

/** The fonts of one document: Helvetica, and further fonts for letters that it lacks. */
export class Typeface {
  readonly #written = new Map<string, string>()
  /** Whether some letters were replaced because no font has them. */
  lacks = false

  constructor(readonly fonts: readonly Font[]) {}

  /** Sets one line of text, in visual order from left to right. */
  set(text: string, weight: Weight): SetText {
    const plain = plainText(text)
    const letters = [...plain].map((character) => this.#writtenOf(character))
    const written = letters.join('').replaceAll(/(\[…\]\s*)*\[…\]/gu, MISSING)
    const signs = inWritingOrder(joined(written).flatMap((sign) => this.#available(sign)))
    const isStandard = signs.every(({ shown }) => codeOf(shown) !== undefined)
    const runs: GlyphRun[] = []
    let sum = 0
    for (const sign of signs) {
      const last = runs.at(-1)
      const { font, number, width } = isStandard ? standard(sign.shown, weight) : this.#placed(sign, weight, last?.font)
      if (last?.font === font) last.numbers.push(number)
      else runs.push({ font, numbers: [number] })
      sum += width
    }
    if (written !== plain) this.lacks = true
    return { runs, width: sum, actual: written === plain ? undefined : plain }
  }

  /** Keeps spaces in the font of the text before them, so that a line has few runs. */
  #placed({ shown, text }: Sign, weight: Weight, before: GlyphRun['font'] | undefined) {
    const keeps = before instanceof Font && !WORDLIKE.test(shown) && before.glyphOf(shown) !== undefined
    const font = keeps ? before : this.#fontWith(shown)
    const glyph = font?.glyphOf(shown)
    if (!font || glyph === undefined) return standard(shown, weight)
    return { font, number: font.numberOf(glyph, text), width: font.widthOf(glyph) }
  }

  /** Width of one character in thousandths of the size. Joined to others it may be narrower. */
  widthOf(character: string, weight: Weight): number {
    const shown = this.#writtenOf(character)
    const font = codeOf(shown) === undefined ? this.#fontWith(shown) : undefined
    if (font) return font.widthOf(font.glyphOf(shown) ?? 0)
    const codes = [...shown].map((each) => codeOf(each) ?? 32)
    return widthOf(codes, weight)
  }

  #writtenOf(character: string): string {
    const known = this.#written.get(character)
    if (known) return known
    const written = this.#has(character) ? character : replacementOf(character)
    this.#written.set(character, written)
    return written
  }

  #has = (character: string): boolean => codeOf(character) !== undefined || this.#fontWith(character) !== undefined

  #fontWith(character: string): Font | undefined {
    return SETTABLE.test(character) ? this.fonts.find((font) => font.glyphOf(character) !== undefined) : undefined
  }

  /** Splits a shape that the fonts lack into the letters it consists of. */
  #available(sign: Sign): Sign[] {
    if (this.#has(sign.shown)) return [sign]
    return [...sign.text.normalize('NFKC')].map((shown) => ({ shown, text: shown }))
  }
}

function replacementOf(character: string): string {
  const latin = latinOf(character)
  return [...latin].every((each) => codeOf(each) !== undefined) ? latin : MISSING
}

/** Prepares a line: removes invisible characters, and the optional vowel signs of Arabic and Hebrew. */
export const plainText = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/\p{C}/gu, '')
    .replaceAll(/[\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]/gu, '')

/** Returns the fonts for these texts. A font that cannot be loaded is logged and skipped. */
export async function typefaceFor(
  texts: readonly string[],
  { fonts, log, parts }: { readonly fonts: Fonts | undefined; readonly log: Log; readonly parts: Parts },
): Promise<Typeface> {
  const needed = [...new Set(texts.flatMap((text) => [...plainText(text)]))].filter(
    (character) => codeOf(character) === undefined && SETTABLE.test(character),
  )
  if (needed.length === 0) return new Typeface([])
  const without = (cause: unknown) => {
    log.error('a font for an invoice could not be loaded', cause)
    return []
  }
  const read = async (files: readonly Uint8Array<ArrayBuffer>[]) =>
    (await Promise.all(files.slice(0, MAX_FILES).map((file) => Font.read(file).catch(without)))).flat()
  const own = await parts
    .loadIfHeld(packaged)
    .then((held) => held?.packagedFonts(needed) ?? [])
    .then(read)
    .catch(without)
  const rest = needed.filter((character) => own.every((font) => font.glyphOf(character) === undefined))
  if (rest.length === 0 || !fonts) return new Typeface(own)
  return new Typeface([...own, ...(await fonts.find(rest).then(read).catch(without))])
}

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
