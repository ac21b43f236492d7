/** The text without these characters at its end. An expression such as `/a+$/` reads a long row of them once for each. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/** The text without these characters at its start and at its end. */
export function withoutEnds(text: string, characters: string): string {
  let start = 0
  while (start < text.length && characters.includes(text.charAt(start))) start++
  return withoutEnd(text.slice(start), characters)
}
