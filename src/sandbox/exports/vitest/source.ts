/** Source code of JavaScript in place of a value. */
export class Source {
  constructor(readonly code: string) {}
}

/** How wide a line of an export may be, without its indentation. */
const WIDE = 100

/** Characters that a reader does not see, or that end a line or a script where the text is embedded. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?<=<)\/(?=script)/giu

const escapedUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const escapeUnseen = (text: string): string =>
  text.replace(UNSEEN, (found) => (found === '/' ? '\\/' : found.split('').map(escapedUnit).join('')))

/** A text as a literal. */
export const textSource = (text: string): string =>
  `'${escapeUnseen(JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'"))}'`

/** A regular expression as a literal. `pattern` is without its slashes, which are escaped in it. */
export const patternSource = (pattern: string): string => `/${escapeUnseen(pattern)}/`

/** Text with code in between, as a literal or a template. */
export function templateSource(given: readonly (string | Source)[]): string {
  const parts = merged(given)
  if (parts.length === 0) return textSource('')
  const [only] = parts
  if (parts.length === 1) return only instanceof Source ? only.code : textSource(only ?? '')
  const code = parts.map((part) => (typeof part === 'string' ? insideTemplate(part) : `\${${part.code}}`))
  return `\`${code.join('')}\``
}

/** Without empty texts, and with neighbouring texts as one. */
function merged(given: readonly (string | Source)[]): (string | Source)[] {
  const parts: (string | Source)[] = []
  for (const part of given) {
    const last = parts.at(-1)
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part
    else if (part !== '') parts.push(part)
  }
  return parts
}

const insideTemplate = (text: string): string =>
  textSource(text).slice(1, -1).replaceAll("\\'", "'").replaceAll('`', '\\`').replaceAll('${', '\\${')

/** A value of JSON as a literal, with code in place of some of its parts. `wide`: how wide a line may be. */
export function valueSource(value: unknown, wide = WIDE, indent = ''): string {
  if (value instanceof Source) return value.code
  if (typeof value === 'string') return textSource(value)
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const deeper = `${indent}  `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((each) => valueSource(each, wide, deeper))
    : Object.entries(value).map(([name, each]) => `${nameSource(name)}: ${valueSource(each, wide, deeper)}`)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (parts.length === 0) return open + close
  const pad = isList ? '' : ' '
  const line = `${open}${pad}${parts.join(', ')}${pad}${close}`
  if (line.length <= wide && !line.includes('\n')) return line
  return `${open}\n${parts.map((part) => `${deeper}${part},\n`).join('')}${indent}${close}`
}

/** The same on one line. */
export const lineSource = (value: unknown): string => valueSource(value, Number.POSITIVE_INFINITY)

/** The name of a field in an object. `__proto__` would set the prototype. */
const nameSource = (name: string): string =>
  name === '__proto__' ? `['__proto__']` : isName(name) ? name : textSource(name)

/** The code that reads a field. */
export const fieldSource = (of: string, name: string | number): string =>
  typeof name === 'string' && isName(name) ? `${of}.${name}` : `${of}[${valueSource(name)}]`

const isName = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name)
