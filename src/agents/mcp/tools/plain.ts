import { removeInvisible } from '../../../base/text/invisible-characters.js'
import type { Json } from './tool.js'

/** Text on one line, without what people cannot see. */
export const plainLine = (text: string): string => removeInvisible(text).replace(/\s+/g, ' ').trim()

/** What the price tail of a tool is made of, and what looks like it. */
const LOOKALIKES = [
  [/[[［【〔〖〘〚⟦⁅❲⦋⦍⦏﹝]/gu, '('],
  [/[\]］】〕〗〙〛⟧⁆❳⦌⦎⦐﹞]/gu, ')'],
  [/[|｜¦∣│┃ǀ❘❙￨]/gu, '·'],
  [/(pr(?:ice|ovider))\s*[:：﹕︓꞉∶︰ː˸]\s*/giu, '$1 – '],
  [/[/⁄∕／]\s*(?=call)/giu, ' a '],
] as const

/** What sellers write beside the price tail of their tool: no part of it reads as such a tail. */
export const besidePrice = (text: string): string =>
  LOOKALIKES.reduce((written, [mark, plain]) => written.replace(mark, plain), removeInvisible(text))

/** What comes or goes exactly so: what a service delivered, and what the agent sent or is to send itself. */
const EXACT = new Set(['response', 'arguments', 'additionalParams', 'change', 'approval'])
const SCHEMAS = new Set(['service_schema', 'input_schema'])
const LINES = new Set(['name', 'commodity_name', 'descriptor', 'seller', 'provider', 'businessName', 'summary'])

/**
 * What tools and resources answer, as agents read it: what sellers write is data to them, without control and format characters,
 * which hide text from people.
 */
export const plainAnswer = (answer: object): Json =>
  Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, plainField(name, value)]))

function plainField(name: string, value: unknown): unknown {
  if (EXACT.has(name)) return value
  if (SCHEMAS.has(name)) return plainPart(value)
  if (typeof value === 'string') return LINES.has(name) ? plainLine(value) : removeInvisible(value)
  if (Array.isArray(value)) return value.map((each) => plainField(name, each))
  return typeof value === 'object' && value !== null ? plainAnswer(value) : value
}

/** Where a JSON Schema holds values, not words for people. */
const VALUES = new Set(['const', 'enum', 'default', 'examples'])

/** Where it holds schemas by names that its author gave, which are no keywords. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** What of it is words for people. */
const WORDS = new Set(['title', 'description', '$comment'])

/** A seller's schema with its words for people made plain, and without the annotations that would have clients send headers. */
export function plainSchema(schema: object): Record<string, unknown> {
  const shown = Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === 'x-mcp-header') return []
    if (NAMED.has(keyword)) return [[keyword, eachPlain(value)]]
    if (VALUES.has(keyword)) return [[keyword, value]]
    if (typeof value !== 'string') return [[keyword, plainPart(value)]]
    return [[keyword, WORDS.has(keyword) ? besidePrice(value) : removeInvisible(value)]]
  })
  return Object.fromEntries(shown)
}

function plainPart(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(plainPart)
  return typeof part === 'object' && part !== null ? plainSchema(part) : part
}

function eachPlain(schemas: unknown): unknown {
  if (typeof schemas !== 'object' || schemas === null) return schemas
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plainPart(schema)]))
}
