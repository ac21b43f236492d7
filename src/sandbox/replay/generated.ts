/** What is generated within texts, such as addresses and sentences. A mark says it of a whole field. */

const TIME = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`
const UUID = String.raw`[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}`

/** Parts of texts that are generated: ids, times, and the numbers between them. */
const GENERATED = new RegExp(String.raw`${TIME}|${UUID}|[\da-f]{16,}|(?<=_)[\w-]{16,}|\d+`, 'gi')
const HAS_LONG_ID = /[\da-f]{16}|[\da-f]{8}-[\da-f]{4}-|\d{4}-\d\d-\d\dT/i

/** Whether a text has an id or a time in it that is too long to be something else. */
export const hasGenerated = (text: string): boolean => HAS_LONG_ID.test(text)

/** A text without its generated parts. Texts of one shape have the same rest. */
export const withoutGenerated = (text: string): string => text.replace(GENERATED, '#')

/** The shape of a text, as a regular expression for the whole of it. */
export function shapeOf(text: string): string {
  let shape = ''
  let end = 0
  for (const found of text.matchAll(GENERATED)) {
    shape += escaped(text.slice(end, found.index)) + shapeOfPart(found[0])
    end = found.index + found[0].length
  }
  return `^${shape}${escaped(text.slice(end))}$`
}

function shapeOfPart(part: string): string {
  if (new RegExp(`^${TIME}$`).test(part)) return TIME
  if (new RegExp(`^${UUID}$`, 'i').test(part)) return '[\\da-f-]{36}'
  if (/^\d+$/.test(part)) return '\\d+'
  return /^[\da-f]+$/i.test(part) ? `[\\da-f]{${part.length}}` : '[\\w-]+'
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
