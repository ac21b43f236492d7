/** A pictogram with what joins its parts; or a character that shows nothing, turns text around, or is nobody's but its font's. */
const PICTOGRAM = String.raw`\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F]*(?:\u200D(?=\p{Extended_Pictographic}))?`
const HIDDEN = String.raw`(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`
const found = new RegExp(`${PICTOGRAM}|(?<hidden>${HIDDEN})`, 'gu')

const replaceInvisible = (text: string, by: (character: string) => string): string =>
  text.replace(found, (part: string, hidden?: string) => (hidden === undefined ? part : by(hidden)))

/** Whether text is one line of which people see every character. */
export const isPlainLine = (text: string): boolean => !/[\n\t]/.test(text) && removeInvisible(text) === text

/** Text of others with what people cannot see in it named, for them to see. */
export const revealInvisible = (text: string): string => replaceInvisible(text, (hidden) => `⟨U+${hexOf(hidden)}⟩`)

/** Text of others without what people cannot see in it. */
export const removeInvisible = (text: string): string => replaceInvisible(text, () => '')

const hexOf = (character: string): string => (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')

/** Text of others on one line, with what people cannot see in it named. */
export const revealInvisibleLine = (text: string): string => revealInvisible(text).replace(/\s+/g, ' ').trim()
