/** Emoji keep their joiners. Other invisible, text-direction and private-use characters match `HIDDEN`. */
const PICTOGRAM = String.raw`\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F]*(?:\u200D(?=\p{Extended_Pictographic}))?`
const HIDDEN = String.raw`(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`
const found = new RegExp(`${PICTOGRAM}|(?<hidden>${HIDDEN})`, 'gu')

const replaceInvisible = (text: string, by: (character: string) => string): string =>
  text.replace(found, (part: string, hidden?: string) => (hidden === undefined ? part : by(hidden)))

/** Whether text is one line without invisible characters. */
export const isPlainLine = (text: string): boolean => !/[\n\t]/.test(text) && removeInvisible(text) === text

/** Whether text shows nothing: it has only spaces, invisible characters, or the empty pattern of Braille. */
export const isBlank = (text: string): boolean => !/[^\p{Z}\p{Cc}\u2800]/u.test(removeInvisible(text))

/** Replaces invisible characters in untrusted text by their code points, such as `⟨U+200B⟩`. */
export const revealInvisible = (text: string): string => replaceInvisible(text, codePointText)

/** Removes invisible characters from untrusted text. */
export const removeInvisible = (text: string): string => replaceInvisible(text, () => '')

/** A character by its code point, such as `⟨U+200B⟩`. */
export const codePointText = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`

/** Untrusted text on one line, with invisible characters replaced by their code points. */
export const revealInvisibleLine = (text: string): string => revealInvisible(text).replace(/\s+/g, ' ').trim()
