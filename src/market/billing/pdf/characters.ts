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
