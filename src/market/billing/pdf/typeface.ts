import type { Parts } from '../../../base/parts.js'
import type { Fonts, Log } from '../../../base/ports.js'
import { type ArabicSign, joined } from './arabic.js'
import { codeOf, latinOf } from './characters.js'
import { Font } from './font.js'
import { fontsKey as packaged } from './part.js'
import { Subset } from './subset.js'
import { type Weight, widthOf } from './widths.js'
import { inWritingOrder } from './writing-order.js'

/** Replaces letters that no font has. */
export const MISSING = '[…]'

/** Scripts that need no shaping, or only that of `joined`. Indic scripts need more. */
const SETTABLE =
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Common}\p{Script=Inherited}]/u

/** The most font files of the host that one document uses. Letters beyond them count as missing. */
const MAX_FILES = 40

/** Glyphs of one font in line order: WinAnsi codes of a standard font, or numbers in a subset. */
export interface GlyphRun {
  readonly font: 'standard' | Subset
  readonly numbers: readonly number[]
}

export interface SetText {
  readonly runs: readonly GlyphRun[]
  /** In thousandths of the size. */
  readonly width: number
  /** The original text, if some of it was replaced. */
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

/** The fonts of one document: Helvetica, and subsets of other fonts for letters that it lacks. */
export class Typeface {
  readonly subsets: readonly Subset[]
  readonly #written = new Map<string, string>()
  /** Whether some letters were replaced because no font has them. */
  lacks = false

  constructor(fonts: readonly Font[]) {
    this.subsets = fonts.map((font) => new Subset(font))
  }

  /** Sets one line of text, in visual order from left to right. */
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

  /** Keeps spaces in the font of the text before them, so that a line has few runs. */
  #placed(sign: ArabicSign, weight: Weight, previous: Placed | undefined): Placed {
    const { shown, text } = sign
    const before =
      previous === undefined || previous.font === 'standard' || WORDLIKE.test(shown) ? undefined : previous.font
    const subset = before?.font.glyphOf(shown) === undefined ? this.#subsetOf(shown) : before
    const glyph = subset?.font.glyphOf(shown)
    if (!subset || glyph === undefined) return standard(sign, weight)
    return { font: subset, number: subset.numberOf(glyph, text), width: subset.font.widthOf(glyph) }
  }

  /** Width of one character in thousandths of the size. Joined to others it may be narrower. */
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

  /** Returns the printed form of a character: itself, or a replacement. */
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

  /** Splits a shape that the fonts lack into the letters it consists of. */
  #available(sign: ArabicSign): ArabicSign[] {
    if (codeOf(sign.shown) !== undefined || this.#subsetOf(sign.shown)) return [sign]
    return [...sign.text.normalize('NFKC')].map((shown) => ({ shown, text: shown }))
  }
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
