/**
 * What sellers write is read by agents as data: without control and format characters, which hide text from people,
 * and with nothing that reads as the price that the service itself says.
 */
export const plain = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Co}]/gu, (c) => (/[\n\t]/.test(c) ? c : ''))

/** The same, on one line. */
export const plainLine = (text: string): string => plain(text).replace(/\s+/g, ' ').trim()

/** Where a JSON Schema holds values, not words for people. */
const values = new Set(['const', 'enum', 'default', 'examples'])

/** A seller's schema with its words for people made plain, and without the annotations that would have clients send headers. */
export function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema)
  if (typeof schema !== 'object' || schema === null) return schema
  const shown = Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === 'x-mcp-header') return []
    if (values.has(keyword)) return [[keyword, value]]
    return [[keyword, typeof value === 'string' ? plain(value) : plainSchema(value)]]
  })
  return Object.fromEntries(shown)
}
