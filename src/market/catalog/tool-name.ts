import { reservedToolNames } from './reserved-tool-names.js'

/** Leaves room for a number among the 64 characters that models take. */
const LONGEST = 58

/** A name in snake_case, of the letters that tools are named with: accents go; what is left without any is an `item`. */
export const snakeCase = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, LONGEST)
    .replace(/^_+|_+$/g, '') || 'item'

/** What an item may be called as a tool: what it is called in snake_case, then with `_2`, `_3`; never what another tool is called. */
export function* toolNamesOf(name: string): Generator<string> {
  const own = snakeCase(name)
  if (!reservedToolNames.has(own)) yield own
  for (let n = 2; ; n++) if (!reservedToolNames.has(`${own}_${n}`)) yield `${own}_${n}`
}

/** Whether a tool may go on under its name where its item is called so. */
export function fitsToolName(toolName: string, name: string): boolean {
  const own = snakeCase(name)
  return toolName === own || (toolName.startsWith(`${own}_`) && /^[1-9]\d*$/.test(toolName.slice(own.length + 1)))
}
