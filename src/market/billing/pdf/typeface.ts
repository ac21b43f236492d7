import type { Fonts, Log } from '../../../base/ports.js'
import { type ArabicSign, joined } from './arabic.js'
import { codeOf, latinOf } from './characters.js'
import { Font } from './font.js'
import { ownFonts } from './own-fonts.js'
import { Subset } from './subset.js'
import { type Weight, widthOf } from './widths.js'
import { inWritingOrder } from './writing-order.js'

/** Stands for letters that no font has. */
export const MISSING = '[…]'

/** Scripts whose letters stand side by side as they are, or as `joined` has them. Those of India and their like need more than that. */
const SETTABLE =
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Common}\p{Script=Inherited}]/u

/** How many font files a document takes from its host: letters of further ones are as those that no font has. */
const MOST_FILES = 40

/** Signs in one font, as they stand on a line: by their codes in the standard fonts, or by their numbers in a subset. */
export interface GlyphRun {
  readonly font: 'standard' | Subset
  readonly numbers: readonly number[]
}

export interface SetText {
  readonly runs: readonly GlyphRun[]
  /** In thousandths of the size. */
  readonly width: number
  /** What the text is, where other letters stand for some of it. */
  readonly actual: string | undefined
}

interface Placed {
  readonly font: GlyphRun['font']
  readonly number: number
  readonly width: number
}

const WORDLIKE = /[\p{L}\p{N}]/u

function standard({ shown }: ArabicSign, weight: Weight): Placed {
  const code = codeOf(shown) ?? 32
  return { font: 'standard', number: code, width: widthOf([code], weight) }
}

function runsOf(placed: readonly Placed[]): GlyphRun[] {
  const runs: { font: GlyphRun['font']; numbers: number[] }[] = []
  for (const { font, number } of placed) {
    const last = runs.at(-1)
    if (last?.font === font) last.numbers.push(number)
    else runs.push({ font, numbers: [number] })
  }
  return runs
}

/** The fonts of one document: Helvetica, which every reader has, and parts of others for what that lacks. */
export class Typeface {
  readonly subsets: readonly Subset[]
  readonly #written = new Map<string, string>()
  /** Other letters stand somewhere for what no font has. */
  lacks = false

  constructor(fonts: readonly Font[]) {
    this.subsets = fonts.map((font) => new Subset(font))
  }

  /** Sets one line of text, from left to right as it is written. */
  set(text: string, weight: Weight): SetText {
    const plain = plainText(text)
    const written = this.#writtenFor(plain)
    const signs = inWritingOrder(joined(written).flatMap((sign) => this.#available(sign)))
    const isStandard = signs.every(({ shown }) => codeOf(shown) !== undefined)
    const placed: Placed[] = []
    for (const sign of signs)
      placed.push(isStandard ? standard(sign, weight) : this.#placed(sign, weight, placed.at(-1)))
    const width = placed.reduce((sum, each) => sum + each.width, 0)
    const isActual = written === plain
    if (!isActual) this.lacks = true
    return { runs: runsOf(placed), width, actual: isActual ? undefined : plain }
  }

  /** What is between words stays in the font of what is before it, so that a line is not cut in pieces. */
  #placed(sign: ArabicSign, weight: Weight, previous: Placed | undefined): Placed {
    const { shown, text } = sign
    const before =
      previous === undefined || previous.font === 'standard' || WORDLIKE.test(shown) ? undefined : previous.font
    const subset = before?.font.glyphOf(shown) === undefined ? this.#subsetOf(shown) : before
    const glyph = subset?.font.glyphOf(shown)
    if (!subset || glyph === undefined) return standard(sign, weight)
    return { font: subset, number: subset.numberOf(glyph, text), width: subset.font.widthOf(glyph) }
  }

  /** Of one character, in thousandths of the size: joined to others it may be less wide. */
  widthOf(character: string, weight: Weight): number {
    const shown = this.#writtenOf(character)
    const subset = codeOf(shown) === undefined ? this.#subsetOf(shown) : undefined
    if (subset) return subset.font.widthOf(subset.font.glyphOf(shown) ?? 0)
    return widthOf(
      [...shown].map((each) => codeOf(each) ?? 32),
      weight,
    )
  }

  #writtenFor(text: string): string {
    return [...text]
      .map((character) => this.#writtenOf(character))
      .join('')
      .replaceAll(/(\[…\]\s*)*\[…\]/gu, MISSING)
  }

  /** What stands on paper for a character: itself, or other letters. */
  #writtenOf(character: string): string {
    const known = this.#written.get(character)
    if (known) return known
    const written = this.#look(character)
    this.#written.set(character, written)
    return written
  }

  #look(character: string): string {
    if (codeOf(character) !== undefined || this.#subsetOf(character)) return character
    const latin = latinOf(character)
    const isLatin = [...latin].every((each) => codeOf(each) !== undefined)
    return isLatin ? latin : MISSING
  }

  #subsetOf(character: string): Subset | undefined {
    if (!SETTABLE.test(character)) return undefined
    return this.subsets.find(({ font }) => font.glyphOf(character) !== undefined)
  }

  /** A shape that the fonts lack is written as the letters it is made of. */
  #available(sign: ArabicSign): ArabicSign[] {
    if (codeOf(sign.shown) !== undefined || this.#subsetOf(sign.shown)) return [sign]
    return [...sign.text.normalize('NFKC')].map((shown) => ({ shown, text: shown }))
  }
}

/** One line as it is set: without what is never seen, and without the vowel signs of Arabic and Hebrew, which need not be written. */
export const plainText = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/\p{C}/gu, '')
    .replaceAll(/[\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]/gu, '')

/** The fonts that these texts need. A font that cannot be had is told to the log, and gone without. */
export async function typefaceFor(
  texts: readonly string[],
  { fonts, log }: { readonly fonts: Fonts | undefined; readonly log: Log },
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
    (await Promise.all(files.slice(0, MOST_FILES).map((file) => Font.read(file).catch(without)))).flat()
  const own = await ownFonts(needed).then(read).catch(without)
  const rest = needed.filter((character) => own.every((font) => font.glyphOf(character) === undefined))
  if (rest.length === 0 || !fonts) return new Typeface(own)
  return new Typeface([...own, ...(await fonts.find(rest).then(read).catch(without))])
}
