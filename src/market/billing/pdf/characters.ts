/** Characters of WinAnsiEncoding (ISO 32000-1, annex D), which the standard fonts of PDF have. */

/** Characters of the codes 128 to 159, which differ from ISO 8859-1. A space: no character. */
const HIGH = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'

/** Returns the code of a character, or undefined if the encoding lacks it. */
export function codeOf(character: string): number | undefined {
  const code = character.codePointAt(0)
  if (code === undefined) return undefined
  if (code < 32 || code === 127) return 32
  if (code < 127 || (code > 159 && code < 256)) return code
  const place = HIGH.indexOf(character)
  return place < 0 ? undefined : place + 128
}

/**
 * Returns a replacement for a character that no font has, or the character itself. Letters lose their marks (ğ: g),
 * Greek and Cyrillic become Latin letters, and invisible characters become an empty string.
 */
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
