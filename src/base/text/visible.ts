/** Characters that a reader does not see, or that change how others are shown. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const escapedUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const escapedCharacter = (character: string): string =>
  SHORT[character] ?? character.split('').map(escapedUnit).join('')

/** Foreign text on one line, with unseen characters as escapes such as `\n` and `\u202e`, which JSON and JavaScript share. */
export const visibleLine = (text: string): string => text.replace(UNSEEN, escapedCharacter)

/** The same for a text whose line breaks and tabs are its own, such as a document whose parts are visible already. */
export const visibleText = (text: string): string =>
  text.replace(UNSEEN, (character) =>
    character === '\n' || character === '\t' ? character : escapedCharacter(character),
  )

/** Whether every character of a line can be seen. */
export const isVisible = (text: string): boolean => text.search(UNSEEN) < 0

/** A value of JSON whose texts and names of fields are visible lines. */
export function visibleValue(value: unknown): unknown {
  if (typeof value === 'string') return visibleLine(value)
  if (Array.isArray(value)) return value.map(visibleValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [visibleLine(name), visibleValue(each)]))
}

/** A failure with its causes for a log. The lines of a stack stay, because no text of others is in them. */
export function visibleFailure(failure: unknown): string {
  if (!(failure instanceof Error)) return visibleLine(typeof failure === 'string' ? failure : jsonOf(failure))
  const { message, stack = '', cause } = failure
  const at = message === '' ? -1 : stack.indexOf(message)
  const frames = at < 0 ? stack.replace(/^.*/, '') : stack.slice(at + message.length)
  const shown = `${failure.name}: ${visibleLine(message)}${visibleText(frames)}`
  return cause === undefined ? shown : `${shown}\ncaused by ${visibleFailure(cause)}`
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return String(value)
  }
}
