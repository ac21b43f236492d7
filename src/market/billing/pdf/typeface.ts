import type { Parts } from '../../../base/parts.js'
import type { Fonts, Log } from '../../../base/ports.js'
import { codeOf, latinOf, type Weight, widthOf } from './characters.js'
import { Font } from './font.js'
import { fontsKey as packaged } from './part.js'
import { inWritingOrder, joined, type Sign } from './writing-order.js'

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

  /** Returns the printed form of a character: itself, or a replacement. */
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
