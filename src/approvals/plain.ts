/** Characters that show nothing, or turn text around: those that join a pictogram's parts aside. */
const UNSEEN = /\p{Extended_Pictographic}\uFE0F?\u200D|(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Text of others with nothing hidden in it: what cannot be seen is named. */
export const plain = (text: string): string =>
  text.replace(UNSEEN, (found) => (found.length > 1 && found.endsWith('\u200D') ? found : `⟨U+${hexOf(found)}⟩`))

const hexOf = (character: string): string =>
  (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')
